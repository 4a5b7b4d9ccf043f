"""The alignment path as a picture: output tokens across, document positions down, and the passes below."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from redraft.drafting.base import MAX_DRAFT
from redraft.engine.results import Source
from redraft.replay.narrate import NAMES, Narrator
from redraft.replay.reading import KeptRun, Reading
from redraft.replay.trace import Pass, Trace

_LEFT, _RIGHT, _TOP = 58.0, 18.0, 14.0
_STRIP = 96.0  # height of the bars of the passes
_BETWEEN = 26.0  # plot to bars
_BELOW = 44.0  # ticks, numbers and the axis' name
_WIDTH = 1040.0  # of the plot, unless there are more tokens than that can show
_LEAST, _MOST = 0.6, 8.0  # pixels a token
_SHORTEST, _TALLEST = 150.0, 620.0
_LABEL = 34.0  # pixels between two labels of an axis
_BRIEF = 4  # a sync that was lost again after fewer tokens is but a dot
_LEVELS = (4, 16, 64, MAX_DRAFT)  # labelled heights of bars


@dataclass(frozen=True, slots=True)
class Frame:
    """Where things lie, in pixels."""

    outputs: int
    documents: int

    @property
    def across(self) -> float:
        """Pixels an output token."""
        return min(_MOST, max(_LEAST, _WIDTH / max(1, self.outputs)))

    @property
    def width(self) -> float:
        return max(160.0, self.outputs * self.across)

    @property
    def height(self) -> float:
        """As many pixels a token as across where that is a fair size: a copy then falls at 45 degrees."""
        return min(_TALLEST, max(_SHORTEST, self.documents * self.across))

    @property
    def floor(self) -> float:
        """y of the bars' base."""
        return _TOP + self.height + _BETWEEN + _STRIP

    def x(self, token: float) -> float:
        return _LEFT + token * self.across

    def y(self, position: float) -> float:
        return _TOP + position * self.height / max(1, self.documents)

    def bar(self, tokens: int) -> float:
        """Height of a bar: by the square root, so that a draft of a few tokens can still be seen beside a long one."""
        return _STRIP * math.sqrt(tokens / MAX_DRAFT)


def picture(trace: Trace, reading: Reading) -> str:
    """An <svg> element; its colours come from the page's custom properties."""
    frame = Frame(len(trace.output), max(1, len(reading.document.ids)))
    runs = reading.runs(trace.sources)
    width, height = _LEFT + frame.width + _RIGHT, frame.floor + _BELOW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="Alignment of the output with the document">',
        f'<clipPath id="plot">{_box(_LEFT, _TOP, frame.width, frame.height)}</clipPath>',
        _box(_LEFT, _TOP, frame.width, frame.height, "plot"),
        *_bands(frame, runs),
        *_axes(frame, reading),
        '<g clip-path="url(#plot)">',
        *_proposals(frame, trace),
        *_copies(frame, trace),
        *_connections(frame, runs),
        *(_run(frame, run, reading) for run in runs),
        "</g>",
        *_marks(frame, trace, reading),
        *_bars(frame, trace, reading),
        "</svg>",
    ]
    return "\n".join(parts)


def _bands(frame: Frame, runs: Sequence[KeptRun]) -> Iterator[str]:
    """Output that the document does not have, and document text that the output does not."""
    for start, end in _gaps([(run.start, run.end) for run in runs], frame.outputs - 1):
        box = _box(frame.x(start), _TOP, (end - start) * frame.across, frame.height, "new")
        yield _titled(box, f"not kept from the document: output tokens {start} to {end - 1}")
    for start, end in _gaps(sorted((run.first, run.last) for run in runs), frame.documents):
        y = frame.y(start)
        box = _box(_LEFT, y, frame.width, frame.y(end) - y, "left-out")
        yield _titled(box, f"not in the output: document tokens {start} to {end - 1}")


def _gaps(intervals: Sequence[tuple[int, int]], length: int) -> Iterator[tuple[int, int]]:
    reached = 0
    for start, end in [*intervals, (length, length)]:
        if start > reached:
            yield reached, start
        reached = max(reached, end)


def _axes(frame: Frame, reading: Reading) -> Iterator[str]:
    for token in range(0, frame.outputs, _step(frame)):
        x = frame.x(token)
        yield f'<path class="grid" d="M{x:.1f} {_TOP}V{frame.floor:.1f}"/>'
        yield _label(x, frame.floor + 20, str(token), "middle")
    yield _label(_LEFT + frame.width / 2, frame.floor + 38, "output token, a tick a pass", "middle")
    last = -_LABEL
    for line, position in _lines(reading):
        y = frame.y(position)
        if y - last >= _LABEL / 2:
            yield f'<path class="grid" d="M{_LEFT} {y:.1f}H{_LEFT + frame.width:.1f}"/>'
            yield _label(_LEFT - 6, y + 4, str(line), "end")
            last = y
    yield _sideways(_TOP + frame.height / 2, "document line")


def _step(frame: Frame) -> int:
    """Tokens between two labels: 1, 2 or 5 times a power of ten."""
    least = 1.4 * _LABEL / frame.across
    power = 10 ** max(0, math.floor(math.log10(least)))
    return int(next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least))


def _lines(reading: Reading) -> Iterator[tuple[int, int]]:
    """(line, its first document token) of every line in which a token begins."""
    last = 0
    for position in range(len(reading.document.ids)):
        line = int(reading.place(position).partition(":")[0])
        if line != last:
            yield line, position
        last = line


def _proposals(frame: Frame, trace: Trace) -> Iterator[str]:
    """Where rejected tokens would have led."""
    for step in trace.passes:
        origin = step.origin
        if step.rejected and origin is not None and origin.text is Source.DOCUMENT:
            start, position = step.start + step.accepted, origin.position + step.accepted
            line = _line(frame, (start, position), len(step.rejected), len(step.rejected), "proposal")
            yield _titled(line, f"pass {step.number}: {len(step.rejected)} rejected")


def _copies(frame: Frame, trace: Trace) -> Iterator[str]:
    """What the alignment took for copied while playing; the kept runs are drawn over it, so that the rest is seen."""
    start = 0
    for index in range(1, len(trace.output) + 1):
        if index < len(trace.output) and _goes_on(trace, index):
            continue
        origin = trace.origins[start]
        if origin is not None:
            yield _line(frame, (start, origin), index - start, index - start, f"copy {trace.sources[start].value}")
        start = index


def _goes_on(trace: Trace, index: int) -> bool:
    before, origin = trace.origins[index - 1], trace.origins[index]
    return before is not None and origin == before + 1 and trace.sources[index] is trace.sources[index - 1]


def _connections(frame: Frame, runs: Sequence[KeptRun]) -> Iterator[str]:
    for a, b in pairwise(runs):
        if (a.end, a.last) != (b.start, b.first):
            yield _line(frame, (a.end, a.last), b.start - a.end, b.first - a.last, "way")


def _run(frame: Frame, run: KeptRun, reading: Reading) -> str:
    size = run.end - run.start, run.last - run.first
    line = _line(frame, (run.start, run.first), *size, f"run {run.source.value}")
    halo = _line(frame, (run.start, run.first), *size, "moved") if run.moved else ""
    moved = ", moved" if run.moved else ""
    where = f"{reading.place(run.first)} of the document"
    return halo + _titled(line, f"{size[0]} tokens from {NAMES[run.source]}, kept from {where}{moved}")


def _marks(frame: Frame, trace: Trace, reading: Reading) -> Iterator[str]:
    """A cross where sync was lost, a ring where it was found again; only a dot where it held for a few tokens."""
    held = _BRIEF
    until = [*(later.at for later in trace.breaks[1:]), len(trace.output)]
    for found, ends in zip(trace.breaks, until, strict=False):
        if held >= _BRIEF:
            x, y = frame.x(found.at), frame.y(found.left)
            cross = f'<path class="lost" d="M{x - 3:.1f} {y - 3:.1f}l6 6m0 -6l-6 6"/>'
            yield _titled(cross, f"sync lost at {reading.place(found.left)}, output token {found.at}")
        if found.back is None or found.resumed is None:
            return
        held = ends - found.back
        name, radius = ("found", 3.5) if held >= _BRIEF else ("brief", 1.4)
        where = f'cx="{frame.x(found.back):.1f}" cy="{frame.y(found.resumed):.1f}" r="{radius}"'
        says = f"found at {reading.place(found.resumed)}, output token {found.back}, for {held} tokens"
        yield _titled(f'<circle class="{name}" {where}/>', says)


def _bars(frame: Frame, trace: Trace, reading: Reading) -> Iterator[str]:
    narrator = Narrator(trace, reading)
    yield f'<path class="axis" d="M{_LEFT} {frame.floor:.1f}h{frame.width:.1f}"/>'
    for level in _LEVELS:
        y = frame.floor - frame.bar(level)
        yield f'<path class="grid" d="M{_LEFT} {y:.1f}h{frame.width:.1f}"/>'
        yield _label(_LEFT - 6, y + 4, str(level), "end")
    yield _sideways(frame.floor - _STRIP / 2, "draft tokens")
    for step in trace.passes:
        says = f"pass {step.number}: {step.accepted} of {len(step.drafted)} accepted, {narrator.proposed(step)}"
        yield f'<a href="#p{step.number}">{_titled(_bar(frame, step), says)}</a>'


def _bar(frame: Frame, step: Pass) -> str:
    x = frame.x(step.start)
    width = max(1.0, (step.end - step.start) * frame.across - 0.6)
    bars = [
        _box(x, frame.floor - height, width, height, f"{name} {step.source.value}")
        for name, height in (("drafted", frame.bar(len(step.drafted))), ("accepted", frame.bar(step.accepted)))
        if height
    ]
    return f'{"".join(bars)}<path class="tick" d="M{x:.1f} {frame.floor:.1f}v6"/>'


def _line(frame: Frame, start: tuple[float, float], across: float, down: float, name: str) -> str:
    x1, y1 = frame.x(start[0]), frame.y(start[1])
    x2, y2 = frame.x(start[0] + across), frame.y(start[1] + down)
    return f'<path class="{name}" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>'


def _box(x: float, y: float, width: float, height: float, name: str = "") -> str:
    return f'<rect class="{name}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


def _label(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _sideways(y: float, text: str) -> str:
    return f'<text transform="translate(14 {y:.1f}) rotate(-90)" text-anchor="middle">{escape(text)}</text>'


def _titled(shape: str, title: str) -> str:
    return f"<g>{shape}<title>{escape(title)}</title></g>"
