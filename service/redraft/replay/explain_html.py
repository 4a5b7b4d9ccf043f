"""A trace as one self-contained page: the picture of the alignment path, the output by source, the passes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from itertools import groupby

from redraft.engine.results import Source
from redraft.replay.explain_svg import picture
from redraft.replay.narrate import NAMES, Narrator, Note, Part, Role, summary
from redraft.replay.reading import Reading, visible
from redraft.replay.trace import Considered, Pass, Trace

_TOKENS = 40  # of a draft that are shown
_NUMBERED = 4  # tokens from which on a pass has its number in the text

# Okabe and Ito 2008; on a dark page the document has their lighter blue.
_STYLE = """
:root { color-scheme: light dark; --page: #fff; --ink: #1b1d20; --faint: #666c74; --rule: #e3e5e8; --plot: #fafbfc;
  --document: #0072b2; --self_copy: #cc79a7; --reference: #009e73; --draft_model: #e69f00; --target: #d55e00; }
@media (prefers-color-scheme: dark) {
  :root { --page: #16181b; --ink: #e6e8ea; --faint: #9aa1a9; --rule: #33373c; --plot: #1c1f23; --document: #56b4e9; } }
body { background: var(--page); color: var(--ink); font: 14px/1.5 system-ui, sans-serif; margin: 24px auto;
  max-width: 1180px; padding: 0 20px; }
h1 { font-size: 20px; margin: 0; } h2 { font-size: 16px; margin: 32px 0 8px; }
p { margin: 4px 0 12px; } a { color: inherit; }
.document { --own: var(--document); } .self_copy { --own: var(--self_copy); } .reference { --own: var(--reference); }
.draft_model { --own: var(--draft_model); } .target { --own: var(--target); }
.legend { color: var(--faint); display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 8px 0; padding: 0; }
.legend li { list-style: none; } .legend svg { vertical-align: -2px; margin-right: 6px; }
.scroll { overflow-x: auto; }
svg text { fill: var(--faint); font: 11px system-ui, sans-serif; }
svg .plot { fill: var(--plot); } svg .grid { stroke: var(--rule); stroke-width: 1; fill: none; }
svg .axis, svg .tick { stroke: var(--faint); stroke-width: 1; fill: none; } svg .tick { stroke-width: 0.7; }
svg .new { fill: var(--target); opacity: 0.2; } svg .left-out { fill: var(--faint); opacity: 0.13; }
svg .run { stroke: var(--own); stroke-width: 2.6; stroke-linecap: square; }
svg .copy { stroke: var(--own); stroke-width: 1.6; }
svg .moved { stroke: var(--own, var(--ink)); stroke-width: 9; opacity: 0.22; stroke-linecap: round; }
svg .way { stroke: var(--faint); stroke-width: 0.8; }
svg .proposal { stroke: var(--faint); stroke-width: 0.8; stroke-dasharray: 3 2; }
svg .lost { stroke: var(--ink); stroke-width: 1.1; fill: none; }
svg .found { stroke: var(--ink); stroke-width: 1.1; fill: none; } svg .brief { fill: var(--ink); opacity: 0.6; }
svg .drafted { fill: var(--own); opacity: 0.3; } svg .accepted { fill: var(--own); }
.text { border: 1px solid var(--rule); font: 13px/1.75 ui-monospace, monospace; overflow-wrap: anywhere; padding: 12px;
  tab-size: 4; white-space: pre-wrap; }
.pass { border-left: 1.5px solid var(--ink); }
.token { background: color-mix(in srgb, var(--own) 18%, transparent); }
.token.target { background: color-mix(in srgb, var(--own) 32%, transparent); font-weight: 600; }
.number { color: var(--faint); font-size: 9px; text-decoration: none; user-select: none; vertical-align: super; }
.nl::before { color: var(--faint); content: "⏎"; } .tab::before { color: var(--faint); content: "⇥"; }
.cr::before { color: var(--faint); content: "␍"; } .pass i { font-style: normal; opacity: 0.6; }
table { border-collapse: collapse; width: 100%; }
th { background: var(--page); border-bottom: 2px solid var(--rule); color: var(--faint); font-weight: 600;
  padding: 4px 8px; position: sticky; text-align: left; top: 0; vertical-align: bottom; }
td { border-bottom: 1px solid var(--rule); padding: 6px 8px; vertical-align: top; }
.figure { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
td.from { border-left: 5px solid var(--own); min-width: 150px; } .kind { color: var(--faint); }
.note { display: flex; gap: 8px; } .note b { color: var(--faint); flex: 0 0 62px; font-weight: 400; text-align: right; }
.note div { overflow-wrap: anywhere; }
code { font: 12px/1.6 ui-monospace, monospace; border-radius: 2px; margin-right: 2px; padding: 0 2px;
  white-space: nowrap; background: color-mix(in srgb, var(--own, var(--faint)) 18%, transparent); }
code.rejected { opacity: 0.75; text-decoration: line-through; } code.own { font-weight: 600; }
summary { color: var(--faint); cursor: pointer; } details table { font-size: 12px; width: auto; }
details td, details th { padding: 1px 8px; position: static; }
tr:target td, .pass:target { outline: 2px solid var(--target); }
"""


def page(trace: Trace, reading: Reading, title: str) -> str:
    """The whole page; it needs no script and nothing from elsewhere."""
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>redraft explain: {escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>",
        f"<h1>{escape(title)}</h1>\n<p>{escape(summary(trace))}</p>",
        f'<h2>Where the output stands in the document</h2>\n{_legend(trace)}\n<div class="scroll">',
        picture(trace, reading),
        "</div>\n<h2>The output, by who proposed it</h2>",
        f'<div class="text">{"".join(_passes_of_text(trace, reading))}</div>\n<h2>The passes</h2>',
        *_table(trace, reading),
        "</body>\n</html>\n",
    ]
    return "\n".join(parts)


def _legend(trace: Trace) -> str:
    used = {step.source for step in trace.passes} | {Source.TARGET}
    sources = (
        _entry(f'<rect class="accepted {source.value}" width="14" height="12"/>', name)
        for source, name in NAMES.items()
        if source in used
    )
    marks = (
        _entry('<rect class="drafted document" width="14" height="12"/>', "drafted, not accepted"),
        _entry('<rect class="new" width="14" height="12"/>', "not kept from the document"),
        _entry('<rect class="left-out" width="14" height="12"/>', "not in the output"),
        _entry('<path class="copy document" d="M0 6h14"/>', "copied, but not kept"),
        _entry('<path class="moved" d="M4 6h6"/>', "moved"),
        _entry('<path class="proposal" d="M0 6h14"/>', "rejected draft"),
        _entry('<path class="lost" d="M4 3l6 6m0 -6l-6 6"/>', "sync lost"),
        _entry('<circle class="found" cx="7" cy="6" r="3.5"/>', "found again"),
        _entry('<circle class="brief" cx="7" cy="6" r="1.4"/>', "for under 4 tokens"),
    )
    return f'<ul class="legend">{"".join(sources)}{"".join(marks)}</ul>'


def _entry(shape: str, name: str) -> str:
    return f'<li><svg width="14" height="12" aria-hidden="true">{shape}</svg>{escape(name)}</li>'


def _passes_of_text(trace: Trace, reading: Reading) -> Iterator[str]:
    narrator, pieces = Narrator(trace, reading), [*reading.pieces(), ""]
    for step in trace.passes:
        title = f"pass {step.number}: {step.accepted} of {len(step.drafted)}, {narrator.proposed(step)}"
        number = f'<a class="number" href="#p{step.number}">{step.number}</a>'
        yield f'<span class="pass" id="o{step.number}" title="{escape(title)}">'
        yield number if step.end - step.start >= _NUMBERED else ""
        for source, indices in groupby(range(step.start, step.end), key=trace.sources.__getitem__):
            text = "".join(pieces[index] for index in indices)
            yield f'<span class="token {source.value}">{_shown(text)}</span>'
        yield "</span>"


def _shown(text: str) -> str:
    """Text as it is, its white space marked beside."""
    marked = {"\n": '<i class="nl"></i>\n', "\t": '<i class="tab"></i>\t', "\r": '<i class="cr"></i>', " ": " "}
    return "".join(marked.get(character) or escape(visible(character)) for character in text)


def _table(trace: Trace, reading: Reading) -> Iterator[str]:
    narrator = Narrator(trace, reading)
    figures = "".join(f'<th class="figure">{name}</th>' for name in ("drafted", "accepted", "cost", "speed-up"))
    yield '<div><table><thead><tr><th class="figure">pass</th><th class="figure">token</th><th>proposed from</th>'
    yield f"{figures}<th>what happened</th></tr></thead><tbody>"
    for step in trace.passes:
        yield from _row(narrator, step)
    yield "</tbody></table></div>"


def _row(narrator: Narrator, step: Pass) -> Iterator[str]:
    expected = f"{step.expected:.1f} expected" if step.drafted else ""
    yield f'<tr id="p{step.number}"><td class="figure"><a href="#o{step.number}">{step.number}</a></td>'
    yield f'<td class="figure">{step.start}</td><td class="from {step.source.value}">{escape(narrator.proposed(step))}'
    yield f'<div class="kind">{escape(narrator.kind(step))}<br>{expected}</div></td>'
    figures = (f"{len(step.drafted)}", f"{step.accepted}", f"{step.cost:.2f}", f"{step.speedup:.2f}x")
    yield "".join(f'<td class="figure">{figure}</td>' for figure in figures)
    yield f"<td>{''.join(map(_note, narrator.notes(step, _TOKENS)))}{_candidates(step)}</td></tr>"


def _note(note: Note) -> str:
    return f'<div class="note"><b>{escape(note.label)}</b><div>{" ".join(map(_part, note.parts))}</div></div>'


def _part(part: Part) -> str:
    if part.role is Role.WORDS:
        return escape(part.text)
    source = "" if part.role is Role.CONTEXT else part.source.value
    return f'<code class="{part.role.value} {source}">{escape(part.text)}</code>'


def _candidates(step: Pass) -> str:
    if not step.considered:
        return ""
    names = ("kind", "source", "length", "P(first)", "wanted", "gain", "right")
    head = "".join(f"<th>{name}</th>" for name in names)
    rows = "".join(_candidate(one, one is step.chosen) for one in step.considered)
    count = f"{len(step.considered)} candidate{'s' if len(step.considered) > 1 else ''}"
    return f"<details><summary>{count}</summary><table><tr>{head}</tr>{rows}</table></details>"


def _candidate(one: Considered, chosen: bool) -> str:
    cells: Iterable[object] = (
        f"{one.kind}{' (chosen)' if chosen else ''}",
        NAMES[one.source],
        one.length,
        f"{one.first:.3f}",
        one.wanted,
        f"{one.gain:.3f}",
        one.agreed,
    )
    return "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>"
