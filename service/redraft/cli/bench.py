"""`redraft bench`: wall time against transformers on given rewrites."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from redraft.bench.forced import Contenders, Row, measure
from redraft.engine.scheduler import SchedulerLimits
from redraft.engine.service import EngineService
from redraft.errors import RedraftError
from redraft.model.loading import LoadOptions, load
from redraft.replay.pairs import read_pairs

_RATIOS = {"vs greedy": "greedy", "vs best lookup": "", "vs undrafted": "undrafted"}


def run_bench(pairs: Path, model: str, limit: int | None, repeats: int, as_json: bool) -> int:
    """Measure every pair; returns the exit code."""
    errors = Console(stderr=True, highlight=False)
    try:
        chosen = list(read_pairs(pairs))[:limit]
        loaded = load(LoadOptions(model=model))
    except (RedraftError, OSError, ValueError) as error:
        errors.print(f"error: {error}", style="red")
        return 1
    service = EngineService(loaded, SchedulerLimits())
    service.start()
    rows: list[Row] = []
    try:
        with Progress(console=errors) as progress:
            task = progress.add_task("forced", total=len(chosen) * repeats * 7)
            for pair in chosen:
                contenders = Contenders(service, loaded.target.model, pair, pair.instruction or "Rewrite the document.")
                rows.append(measure(contenders, pair, repeats, lambda: progress.advance(task)))
                if as_json:
                    print(json.dumps(asdict(rows[-1])), flush=True)  # noqa: T201
    finally:
        service.stop()
    _report(rows, as_json)
    return 0


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
