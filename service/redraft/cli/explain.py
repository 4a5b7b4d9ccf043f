"""`redraft explain`: plays one pair with our drafter and says, pass by pass, what was drafted from where and why."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.style import Style
from rich.text import Text

from redraft.atomic import replace_file
from redraft.drafting.length import CostCurve
from redraft.engine.results import Source
from redraft.errors import MalformedRequest, RedraftError
from redraft.replay.narrate import NAMES, Narrator, Part, Role, summary
from redraft.replay.reading import Reading
from redraft.replay.trace import Pass, Trace

DEFAULT_CURVE = CostCurve(((0, 1.0), (200, 2.0)))
"""A weights-bound pass of a large model: flat, and 200 tokens cost as much again."""

# Okabe and Ito 2008, those that stand out on black and on white alike.
COLOURS = {
    Source.DOCUMENT: "#0072b2",
    Source.SELF_COPY: "#cc79a7",
    Source.REFERENCE: "#009e73",
    Source.DRAFT_MODEL: "#e69f00",
    Source.TARGET: "#d55e00",
}
# The same as far as a terminal of sixteen colours goes: no red beside green.
_BASIC = {
    Source.DOCUMENT: "blue",
    Source.SELF_COPY: "magenta",
    Source.REFERENCE: "cyan",
    Source.DRAFT_MODEL: "bright_yellow",
    Source.TARGET: "yellow",
}
_TOKENS = 24  # of a draft that are shown
_INDENT = 13
_HEAD = f"{'pass':>5}{'output':>8}{'drafted':>9}{'accepted':>10}{'cost':>8}{'speed-up':>10}  proposed from"


@dataclass(frozen=True, slots=True)
class ExplainOptions:
    """What the command line said."""

    before: Path
    after: Path
    tokenizer: str = "demo"
    cost_curve: Path | None = None
    html: Path | None = None
    as_json: bool = False
    from_token: int = 0
    passes: int | None = None
    references: tuple[Path, ...] = ()


def run_explain(options: ExplainOptions) -> int:
    """Explain one pair; returns the exit code."""
    try:
        trace, reading = _trace(options)
        if options.html is not None:
            from redraft.replay.explain_html import page

            replace_file(options.html, page(trace, reading, options.after.name).encode())
    except (RedraftError, OSError, ValueError) as error:
        Console(stderr=True, highlight=False).print(Text(f"error: {error}", style="red"))
        return 1
    shown = list(_shown(trace.passes, options))
    if options.as_json:
        _print_json(trace, reading, shown)
    else:
        Report(Console(file=sys.stdout, highlight=False), trace, reading).print(shown)
    return 0


def _trace(options: ExplainOptions) -> tuple[Trace, Reading]:
    from redraft.drafting.compose import ComposedDrafter
    from redraft.drafting.learned import Learned
    from redraft.replay.curves import read_curve
    from redraft.replay.recorder import WatchedPlanner, trace
    from redraft.replay.tokenizer import open_tokenizer

    texts = [_read(path) for path in (options.before, options.after, *options.references)]
    curve = read_curve(options.cost_curve) if options.cost_curve is not None else DEFAULT_CURVE
    tokens = open_tokenizer(options.tokenizer)
    reading = Reading(tokens.vocabulary, texts[0], texts[1], texts[2:])
    planner = WatchedPlanner(Learned.shipped(), curve, tokens.classes)
    document, references = reading.document.ids, [text.ids for text in reading.references]
    drafter = ComposedDrafter(document, tokens.end, planner, references, spelling=tokens.spelling)
    traced = trace(drafter, document, reading.output.ids, tokens.end, curve, references, planner, tokens.spelling)
    return traced, reading


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedRequest(f"{path} is not UTF-8: byte {error.start}") from None


def _shown(passes: Iterable[Pass], options: ExplainOptions) -> Iterator[Pass]:
    """The passes from the one that emits the wanted token on."""
    left = options.passes
    for step in passes:
        if step.end > options.from_token and left != 0:
            yield step
            left = None if left is None else left - 1


class Report:
    """Prints a trace to a terminal, or wherever the console leads."""

    def __init__(self, console: Console, trace: Trace, reading: Reading) -> None:
        self._console = console
        self._trace = trace
        self._narrator = Narrator(trace, reading)
        self._colours = _BASIC if console.color_system in ("standard", "windows") else COLOURS

    def print(self, shown: Iterable[Pass]) -> None:
        """A legend, the passes and the summary."""
        self._line(self._legend())
        self._line(Text(_HEAD, style="bold"))
        for step in shown:
            self._pass(step)
        self._line(Text())
        self._lay([Text(word) for word in summary(self._trace).split()], 0)

    def _legend(self) -> Text:
        used = (Source.DOCUMENT, Source.SELF_COPY, Source.REFERENCE, Source.TARGET)
        names = [Text(NAMES[source], style=self._style(Role.ACCEPTED, source)) for source in used]
        rejected = Text("rejected", style=self._style(Role.REJECTED, Source.DOCUMENT))
        return Text("  ").join([*names, rejected, Text("· space  ⏎ line break  ⇥ tab  ⏹ end")])

    def _pass(self, step: Pass) -> None:
        figures = f"{step.number:>5}{step.start:>8}{len(step.drafted):>9}{step.accepted:>10}{step.cost:>8.2f}"
        head = Text(f"{figures}{step.speedup:>9.2f}x  ")
        style = self._style(Role.ACCEPTED, step.source) if step.drafted else ""
        proposed = [Text(word, style=style) for word in self._narrator.proposed(step).split()]
        expected = f"{step.expected:.1f} expected" if step.drafted else ""
        details = [Text(detail) for detail in (self._narrator.kind(step), expected) if detail]
        self._lay([*proposed, *details], len(head), head)
        for note in self._narrator.notes(step, _TOKENS):
            label = Text.assemble((f"{note.label:>{_INDENT - 2}}  ", "dim"))
            self._lay((word for part in note.parts for word in self._words(part)), _INDENT, label)

    def _words(self, part: Part) -> list[Text]:
        """What may stand on different lines; a token stays in one piece."""
        if part.role is Role.WORDS:
            return [Text(word) for word in part.text.split()]
        return [Text(part.text, style=self._style(part.role, part.source))]

    def _style(self, role: Role, source: Source) -> Style:
        if role is Role.CONTEXT:
            return Style(italic=True)
        struck = role is Role.REJECTED
        return Style(color=self._colours[source], strike=struck, dim=struck, bold=source is Source.TARGET)

    def _lay(self, words: Iterable[Text], indent: int, line: Text | None = None) -> None:
        """Fill lines behind what the first one begins with; only a word wider than a whole line runs over."""
        line, empty = line or Text(), True
        for word in words:
            if not empty and line.cell_len + 1 + word.cell_len > self._console.width:
                self._line(line)
                line, empty = Text(" " * indent), True
            line.append("" if empty else " ").append_text(word)
            empty = False
        self._line(line)

    def _line(self, line: Text) -> None:
        self._console.print(line, no_wrap=True, overflow="ignore", crop=False)


def _print_json(trace: Trace, reading: Reading, shown: Iterable[Pass]) -> None:
    """One object a pass, then the summary."""
    narrator = Narrator(trace, reading)
    for step in shown:
        print(json.dumps(_as_json(trace, narrator, reading, step), ensure_ascii=False))  # noqa: T201
    played = trace.play
    totals = {
        "output_tokens": played.output_tokens,
        "passes": len(trace.passes),
        "drafted": sum(played.drafted),
        "accepted": sum(played.accepted),
        "breaks": len(trace.breaks),
        "cost": played.cost,
        "modelled_speedup": played.speedup,
        "waste": played.waste,
        "missed_per_run": played.missed / max(1, played.runs),
    }
    print(json.dumps({"summary": totals}))  # noqa: T201


def _as_json(trace: Trace, narrator: Narrator, reading: Reading, step: Pass) -> dict[str, Any]:
    origin = asdict(step.origin) | {"text": step.origin.text.value} if step.origin is not None else None
    return {
        "pass": step.number,
        "output_token": step.start,
        "source": step.source.value,
        "origin": origin,
        "proposed_from": narrator.proposed(step),
        "drafted": [reading.token(token) for token in step.drafted],
        "beside": [reading.token(token) for token in step.other],
        "accepted": step.accepted,
        "target": None if step.own is None else reading.token(step.own),
        "expected": step.expected,
        "cost": step.cost,
        "speedup": step.speedup,
        "hypotheses": [asdict(hypothesis) for hypothesis in step.hypotheses],
        "considered": [asdict(one) | {"source": one.source.value} for one in step.considered],
        "chosen": step.considered.index(step.chosen) if step.chosen is not None else None,
        "lost": [_break(found) for found in trace.lost_in(step)],
        "found": [_break(found) for found in trace.found_in(step)],
    }


def _break(found: Any) -> dict[str, Any]:
    return asdict(found) | {"by": found.by.value, "own": found.own, "skipped": found.skipped}
