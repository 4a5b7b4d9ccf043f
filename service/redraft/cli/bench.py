"""`redraft bench`: wall time against transformers on given rewrites."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from redraft.bench.forced import CONTENDERS, Contenders, Row, measure
from redraft.bench.overhead import measure_overhead
from redraft.engine.scheduler import SchedulerLimits
from redraft.engine.service import EngineService
from redraft.errors import RedraftError
from redraft.model.loading import LoadOptions, load
from redraft.model.runner import TorchTarget
from redraft.replay.pairs import Pair, read_pairs

_RATIOS = {"vs greedy": "greedy", "vs best lookup": "", "vs undrafted": "undrafted"}


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """What the command line said."""

    mode: str
    pairs: Path
    model: str
    limit: int | None
    repeats: int
    as_json: bool


def run_bench(options: BenchOptions) -> int:
    """Measure in the given mode; returns the exit code."""
    errors = Console(stderr=True, highlight=False)
    try:
        pairs = list(read_pairs(options.pairs))[: options.limit]
        loaded = load(LoadOptions(model=options.model))
    except (RedraftError, OSError, ValueError) as error:
        errors.print(f"error: {error}", style="red")
        return 1
    if not pairs:
        errors.print(f"error: {options.pairs} holds no pair", style="red")
        return 1
    service = EngineService(loaded, SchedulerLimits())
    service.start()
    try:
        _MODES[options.mode](options, service, loaded.target, pairs, errors)
    finally:
        service.stop()
    return 0


def _forced(
    options: BenchOptions, service: EngineService, target: TorchTarget, pairs: list[Pair], errors: Console
) -> None:
    rows: list[Row] = []
    with Progress(console=errors) as progress:
        task = progress.add_task("forced", total=len(pairs) * options.repeats * CONTENDERS)
        for pair in pairs:
            contenders = Contenders(service, target.model, pair, pair.instruction or "Rewrite the document.")
            rows.append(measure(contenders, pair, options.repeats, lambda: progress.advance(task)))
            if options.as_json:
                print(json.dumps(asdict(rows[-1])), flush=True)  # noqa: T201
    _report(rows, options.as_json)


def _unrelated(
    options: BenchOptions, service: EngineService, target: TorchTarget, pairs: list[Pair], errors: Console
) -> None:
    """Each document with another one's rewrite as output: with and without drafts, in turn."""
    ratios: list[float] = []
    with Progress(console=errors) as progress:
        task = progress.add_task("unrelated", total=options.repeats)
        for repeat in range(options.repeats):
            document, other = pairs[repeat % len(pairs)], pairs[(repeat + 1) % len(pairs)]
            mixed = Pair(document.id, document.before, other.after)
            ratios.append(Contenders(service, target.model, mixed, "Rewrite the document.").drafts_against_none())
            progress.advance(task)
    middle, spread = median(ratios), max(ratios) - min(ratios)
    verdict = "inconclusive: the spread is wider than 3%" if spread > 0.03 else "conclusive"
    summary = {"median": middle, "least": min(ratios), "most": max(ratios), "runs": len(ratios), "verdict": verdict}
    print(json.dumps({"summary": summary}))  # noqa: T201


def _overhead(
    options: BenchOptions, service: EngineService, target: TorchTarget, pairs: list[Pair], errors: Console
) -> None:
    results = measure_overhead(service, target, pairs[0].before[:1500])
    one = next(result.forward for result in results if result.rows == 1)
    for result in results:
        share = {**asdict(result), "share_of_one_token_pass": result.outside / one}
        print(json.dumps(share))  # noqa: T201


_MODES = {"forced": _forced, "unrelated": _unrelated, "overhead": _overhead}


def _report(rows: list[Row], as_json: bool) -> None:
    summary = {name: _spread(rows, slower, part) for part in ("total", "decode", "prefill")
               for name, slower in ((f"{n} ({part})", s) for n, s in _RATIOS.items())}  # fmt: skip
    summary |= {"undrafted vs greedy (total)": _spread(rows, "greedy", "total", "undrafted")}
    if as_json:
        print(json.dumps({"summary": summary}))  # noqa: T201
        return
    table = Table("document", "prompt", "output", *rows[0].timings) if rows else Table("document")
    for row in rows:
        seconds = (f"{timing.total:.2f}" for timing in row.timings.values())
        table.add_row(row.id, str(row.prompt_tokens), str(row.output_tokens), *seconds)
    console = Console(file=sys.stdout)
    console.print(table)
    for name, (low, middle, high, mean) in summary.items():
        console.print(f"{name}: median {middle:.2f}x, geometric mean {mean:.2f}x ({low:.2f} to {high:.2f})")


def _spread(rows: list[Row], slower: str, part: str, faster: str = "redraft") -> tuple[float, float, float, float]:
    """(least, median, most, geometric mean) of slower / faster over the documents."""
    ratios = [row.ratio(slower or row.best_lookup, faster, part) for row in rows]
    ratios = [ratio for ratio in ratios if ratio > 0] or [1.0]
    return min(ratios), median(ratios), max(ratios), math.exp(sum(map(math.log, ratios)) / len(ratios))
