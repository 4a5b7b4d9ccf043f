"""`redraft bench`: wall time against transformers, and what drafts and our own Python cost."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles

from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from transformers import PreTrainedModel

from redraft.bench.contenders import CONTENDERS, Contenders, Row, measure
from redraft.bench.overhead import measure_overhead
from redraft.bench.unrelated import unrelated
from redraft.engine.scheduler import SchedulerLimits
from redraft.engine.service import EngineService
from redraft.errors import RedraftError
from redraft.model.loading import LoadedModel, LoadOptions, load, load_plain
from redraft.model.packed import is_packed
from redraft.replay.pairs import Pair, read_pairs

_INSTRUCTION = "Rewrite the document."
_WIDE = 140  # columns of a table that goes to a file
_CONCLUSIVE = 0.03  # width between the quartiles of the ratios up to which their median says something
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


@dataclass(frozen=True, slots=True)
class Bench:
    """A loaded model with its engine, and what to measure on it."""

    options: BenchOptions
    service: EngineService
    loaded: LoadedModel
    stock: PreTrainedModel  # the same weights as transformers runs them
    pairs: list[Pair]
    errors: Console


def run_bench(options: BenchOptions) -> int:
    """Measure in the given mode; returns the exit code."""
    errors = Console(stderr=True, highlight=False)
    try:
        pairs = list(read_pairs(options.pairs))[: options.limit]
        loaded = load(LoadOptions(model=options.model))
        stock = load_plain(LoadOptions(model=options.model)) if is_packed(loaded.target.model) else loaded.target.model
    except (RedraftError, OSError, ValueError) as error:
        errors.print(f"error: {error}", style="red", markup=False)
        return 1
    if not pairs:
        errors.print(f"error: {options.pairs} holds no pair", style="red")
        return 1
    service = EngineService(loaded, SchedulerLimits())
    service.start()
    try:
        _MODES[options.mode](Bench(options, service, loaded, stock, pairs, errors))
    finally:
        service.stop()
    return 0


def _contest(bench: Bench) -> None:
    """Every contender on every pair, free or forced."""
    options, rows = bench.options, list[Row]()
    enter = Contenders.free if options.mode == "free" else Contenders
    with Progress(console=bench.errors) as progress:
        task = progress.add_task(options.mode, total=len(bench.pairs) * options.repeats * CONTENDERS)
        for pair in bench.pairs:
            contenders = enter(bench.service, bench.stock, pair, pair.instruction or _INSTRUCTION)
            rows.append(measure(contenders, pair, options.repeats, lambda: progress.advance(task)))
            if options.as_json:
                print(json.dumps(asdict(rows[-1])), flush=True)  # noqa: T201
    _report(rows, options.as_json)


def _unrelated(bench: Bench) -> None:
    """The first document with an output that shares nothing with it: with and without drafts, in turn."""
    options = bench.options
    pair = unrelated(bench.pairs[0], bench.loaded.tokenizer)
    contenders = Contenders(bench.service, bench.stock, pair, _INSTRUCTION)
    ratios: list[float] = []
    with Progress(console=bench.errors) as progress:
        task = progress.add_task("unrelated", total=options.repeats)
        for repeat in range(options.repeats):
            ratios.append(contenders.drafts_against_none(drafts_first=bool(repeat % 2)))
            progress.advance(task)
    low, middle, high = quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    verdict = "conclusive" if high - low <= _CONCLUSIVE else f"inconclusive: the spread is wider than {_CONCLUSIVE:.0%}"
    summary = {
        "without drafts / with drafts, median": round(middle, 4),
        "quartiles": [round(low, 4), round(high, 4)],
        "least and most": [round(min(ratios), 4), round(max(ratios), 4)],
        "runs": len(ratios),
        "verdict": verdict,
    }
    print(json.dumps({"summary": summary}))  # noqa: T201


def _overhead(bench: Bench) -> None:
    results = measure_overhead(bench.service, bench.loaded.target, bench.pairs[0].before[:1500])
    one = next(result.forward for result in results if result.rows == 1)
    for result in results:
        shares = {
            "share_of_its_pass": result.outside / result.forward,
            "share_of_a_pass_of_one_row": result.outside / one,
        }
        print(json.dumps({**asdict(result), **shares}))  # noqa: T201


_MODES = {"free": _contest, "forced": _contest, "unrelated": _unrelated, "overhead": _overhead}


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
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else _WIDE)
    console.print(table)
    for name, (low, middle, high, mean) in summary.items():
        console.print(f"{name}: median {middle:.2f}x, geometric mean {mean:.2f}x ({low:.2f} to {high:.2f})")


def _spread(rows: list[Row], slower: str, part: str, faster: str = "redraft") -> tuple[float, float, float, float]:
    """(least, median, most, geometric mean) of slower / faster over the documents."""
    ratios = [row.ratio(slower or row.best_lookup, faster, part) for row in rows]
    ratios = [ratio for ratio in ratios if ratio > 0] or [1.0]
    return min(ratios), median(ratios), max(ratios), math.exp(sum(map(math.log, ratios)) / len(ratios))
