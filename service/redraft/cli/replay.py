"""`redraft replay`: what drafting would save on pairs, without a model, beside what other systems' rules would."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table as RichTable
from rich.text import Text
from transformers import AutoTokenizer

from redraft.drafting.length import CostCurve
from redraft.engine.drafts import EARLY_EXIT, as_draft_model, measure_depths, sample_ids
from redraft.engine.prompt import Prompter
from redraft.errors import RedraftError
from redraft.model.cache import cache_directory
from redraft.model.cost import measured_cost
from redraft.model.loading import LoadOptions, load, resolve
from redraft.replay.curves import read_curve
from redraft.replay.models import Fill, OwnLayers
from redraft.replay.pairs import Pair, read_pairs
from redraft.replay.run import DRAFTERS, OURS, WITH_MODEL, Result, Summary, Table, replay, summarize
from redraft.replay.sources import OwnPairs, folder_pairs, git_pairs
from redraft.replay.tokenizer import Tokens, open_tokenizer

_SHOWN = 40  # pairs up to which each has a row of its own
_WIDE = 160  # columns of a table that goes to a file
ALL = "all"


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """What the command line said."""

    pairs: tuple[Path, ...] = ()
    tokenizer: str = "demo"
    cost_curve: Path | None = None
    drafters: tuple[str, ...] = ()  # none: redraft, and with a draft model that, too
    as_json: bool = False
    learning: bool = True
    before: Path | None = None
    after: Path | None = None
    git: Path | None = None
    file: str | None = None
    revisions: str | None = None
    draft_model: str | None = None
    target_parameters: float = 7e9


class Usage(ValueError):
    """Options that do not go together."""


def run_replay(options: ReplayOptions) -> int:
    """Play the pairs; returns the exit code."""
    errors = Console(stderr=True, highlight=False)
    try:
        drafters = _drafters(options)
        pairs = _pairs(options, errors)
        results = _play(pairs, drafters, _table(options, errors), options.as_json, errors)
    except BrokenPipeError:
        raise  # whoever reads the output has seen enough
    except (RedraftError, OSError, ValueError) as error:
        errors.print(Text(f"error: {error}", style="red"), soft_wrap=True)
        return 2 if isinstance(error, Usage) else 1
    summaries = [summarize([result for result in results if result.drafter == name]) for name in drafters]
    if options.as_json:
        for summary in summaries:
            print(json.dumps({"summary": asdict(summary)}, ensure_ascii=False))  # noqa: T201
    else:
        _print_tables(results, summaries)
    return 0


def _drafters(options: ReplayOptions) -> list[str]:
    """The names asked for, each once, in their order."""
    usual = (OURS, WITH_MODEL) if options.draft_model else (OURS,)
    every = [name for name in DRAFTERS if name != WITH_MODEL or options.draft_model]
    named = chain.from_iterable(every if name == ALL else (name,) for name in options.drafters or usual)
    unique = list(dict.fromkeys(named))
    if WITH_MODEL in unique and not options.draft_model:
        raise Usage(f"{WITH_MODEL} needs --draft-model")
    unknown = [name for name in unique if name not in DRAFTERS]
    if unknown:
        raise Usage(f"no drafter is called {unknown[0]!r}; there are {', '.join((*DRAFTERS, ALL))}")
    return unique


def _pairs(options: ReplayOptions, errors: Console) -> list[Pair]:
    folders, git = (options.before, options.after), (options.git, options.file)
    given = [bool(options.pairs), any(folders), any((*git, options.revisions))]
    if given.count(True) != 1:
        raise Usage("give PAIRS.jsonl files, or --before DIR and --after DIR, or --git REPO and --file PATH")
    if options.before and options.after:
        return _own(folder_pairs(options.before, options.after), errors)
    if options.git and options.file:
        return _own(git_pairs(options.git, options.file, options.revisions or "HEAD"), errors)
    if not options.pairs:
        raise Usage("--before needs --after, --git needs --file, and the other way round")
    pairs = [pair for path in options.pairs for pair in _read(path)]
    if not pairs:
        raise ValueError(f"{', '.join(map(str, options.pairs))}: no pair")
    return pairs


def _read(path: Path) -> list[Pair]:
    try:
        return list(read_pairs(path))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8: byte {error.start}") from None


def _own(own: OwnPairs, errors: Console) -> list[Pair]:
    reasons = {"unchanged": own.unchanged, "not UTF-8 text": own.unreadable}
    left_out = ", ".join(f"{count} {reason}" for reason, count in reasons.items() if count)
    if left_out:
        errors.print(Text(f"left out: {left_out}", style="dim"), soft_wrap=True)
    if not own.pairs:
        raise ValueError(f"nothing to play: every pair was left out ({left_out})")
    return list(own.pairs)


def _table(options: ReplayOptions, errors: Console) -> Table:
    curve = read_curve(options.cost_curve) if options.cost_curve else _measured_here(errors)
    tokens = open_tokenizer(options.tokenizer)
    return Table(tokens, curve, options.learning, _fill(options, curve, tokens) if options.draft_model else None)


def _fill(options: ReplayOptions, curve: CostCurve, tokens: Tokens) -> Fill:
    """The draft model, a pass as dear as its share of the target's weights; or layers of the tokenizer's own model."""
    prompter = Prompter(AutoTokenizer.from_pretrained(resolve(options.tokenizer)))
    early = options.draft_model == EARLY_EXIT
    loaded = load(LoadOptions(options.tokenizer if early else options.draft_model or ""))
    if early:
        depth = max(measure_depths(loaded.target, sample_ids(prompter)), key=lambda depth: depth.gain)
        return Fill(OwnLayers(loaded.target, curve, depth.layers), prompter)
    costs = curve.scaled(loaded.target.spec.parameters / options.target_parameters)
    return Fill(as_draft_model(loaded, costs, prompter, tokens.end), prompter)


def _measured_here(errors: Console) -> CostCurve:
    """What passes of the demo model cost on this machine, as an engine measured and corrected it before."""
    if not any((cache_directory() / "cost").glob("*.json")):
        raise ValueError(
            'no cost curve: give --cost-curve CURVE.json ({"points": [[query_tokens, cost], …]}), or run '
            "`redraft serve` or `redraft bench` once, which measures what the demo model's passes cost here"
        )
    errors.print(Text("cost curve: the demo model's on this machine, as measured", style="dim"), soft_wrap=True)
    return CostCurve(measured_cost(load(LoadOptions()).target).points)


def _play(pairs: Sequence[Pair], drafters: Sequence[str], table: Table, as_json: bool, errors: Console) -> list[Result]:
    """The results, each printed as soon as it is there if JSON was asked for."""
    results: list[Result] = []
    with Progress(console=errors, transient=True, disable=not errors.is_terminal) as progress:
        task = progress.add_task("replay", total=len(pairs) * len(drafters))
        for result in replay(pairs, drafters, table):
            results.append(result)
            progress.advance(task)
            if as_json:
                print(json.dumps(_as_json(result), ensure_ascii=False), flush=True)  # noqa: T201
    return results


def _as_json(result: Result) -> dict[str, Any]:
    played = result.play
    return {
        "id": result.id,
        "kind": result.kind,
        "drafter": result.drafter,
        "output_tokens": played.output_tokens,
        "passes": len(played.drafted),
        "drafted": sum(played.drafted),
        "accepted": sum(played.accepted),
        "drafted_per_pass": played.drafted,
        "accepted_per_pass": played.accepted,
        "cost": played.cost,
        "modelled_speedup": played.speedup,
        "coverage": result.coverage,
        "oracle_coverage": result.oracle_coverage,
        "missed": played.missed,
        "runs": played.runs,
    }


def _print_tables(results: Sequence[Result], summaries: Sequence[Summary]) -> None:
    """Speed-ups by pair, if they are few, and by kind, the drafters side by side; then a row a drafter."""
    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else _WIDE)
    names = [summary.drafter for summary in summaries]
    if summaries[0].pairs <= _SHOWN:
        by_pair = [results[start : start + len(names)] for start in range(0, len(results), len(names))]
        console.print(_side_by_side("pair", names, [(row[0].id, [one.play.speedup for one in row]) for row in by_pair]))
    kinds = summaries[0].by_kind
    if len(kinds) > 1:
        rows = [(kind or "(none)", [summary.by_kind[kind] for summary in summaries]) for kind in kinds]
        console.print(_side_by_side("kind", names, rows))
    console.print(_totals(summaries))


def _side_by_side(what: str, names: Sequence[str], rows: Sequence[tuple[str, Sequence[float]]]) -> RichTable:
    table = RichTable(what)
    for name in names:
        table.add_column(name, justify="right")
    for label, speedups in rows:
        table.add_row(Text(label), *(f"{speedup:.2f}x" for speedup in speedups))
    return table


def _totals(summaries: Sequence[Summary]) -> RichTable:
    one = summaries[0]
    reused = f"{one.coverage:.0%} of the output is reused; the document could give {one.oracle_coverage:.0%}"
    table = RichTable("drafter", caption=f"{one.pairs} pairs, {one.output_tokens} output tokens. {reused}.")
    for name in ("speed-up", "worst", "missed per run", "waste", "tokens a pass"):
        table.add_column(name, justify="right")
    table.add_column("worst pair")
    for summary in summaries:
        table.add_row(
            summary.drafter,
            f"{summary.geometric_mean:.2f}x",
            f"{summary.worst:.2f}x",
            f"{summary.missed_per_run:.2f}",
            f"{summary.waste:.3f}",
            f"{summary.output_tokens / summary.passes:.1f}",
            Text(summary.worst_pair),
        )
    return table
