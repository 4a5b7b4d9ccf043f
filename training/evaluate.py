"""Evaluates the demo model with and without an adapter on held-out edits, greedily, through redraft's own engine.

python -m training.evaluate --adapter run/training/adapter --replay PAIRS_FOLDER --limit 320
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from redraft.client import LocalClient, collect
from redraft.engine.prompt import Prompter
from redraft.engine.request import EditRequest, Sampling
from redraft.engine.scheduler import SchedulerLimits
from redraft.engine.service import EngineService
from redraft.model.loading import DEMO, LoadOptions, load, resolve
from redraft.model.lora import NONE
from transformers import AutoTokenizer

from training.edits.base import Edit
from training.edits.generate import Generator
from training.edits.sources import collect as collect_sources
from training.examples import replay_files
from training.scores import Score, score, summary, table

SEED = 90_001
"""Not a training seed; the sources are others anyway."""


@dataclass(frozen=True, slots=True)
class Case:
    """An edit and how many tokens its document and the wanted text have."""

    edit: Edit
    tokens: int
    wanted_tokens: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a model made of a case."""

    case: Case
    output: str
    score: Score


def command_line() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adapter", type=Path, help="folder in peft's format; without it only the base is evaluated")
    parser.add_argument("--model", default=DEMO, help="demo, a GGUF file or a folder")
    parser.add_argument("--no-base", action="store_true", help="leave the model without the adapter out")
    parser.add_argument("--replay", type=Path, nargs="*", default=[], help="JSON-lines files of pairs, or their folder")
    parser.add_argument("--limit", type=int, default=320, help="how many edits")
    parser.add_argument("--task", help="this task only")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--longest", type=int, default=1200, help="tokens of a document, roughly")
    parser.add_argument("--running", type=int, default=4, help="edits in one pass")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    parser.add_argument("--outputs", type=Path, help="write every edit and output here, as JSON lines")
    return parser.parse_args()


def cases(asked: argparse.Namespace, prompter: Prompter) -> list[Case]:
    """The held-out edits, in the generator's own mixture of tasks and lengths."""
    generator = Generator(collect_sources(replay_files(asked.replay), True), asked.seed, True, asked.longest)
    edits = [generator.edit_of(asked.task, n) if asked.task else generator.edit(n) for n in range(asked.limit)]

    def tokens(text: str) -> int:
        return len(prompter.document(text).ids)

    return [Case(edit, tokens(edit.document), tokens(edit.wanted)) for edit in edits]


@contextmanager
def served(model: str, adapter: Path | None, running: int) -> Iterator[EngineService]:
    """An engine for the model, with the adapter merged in."""
    options = LoadOptions(resolve(model), dtype="float32", adapter=str(adapter) if adapter else NONE)
    with tempfile.TemporaryDirectory(prefix="redraft-evaluate-") as scratch, own_cache(Path(scratch)):
        service = EngineService(load(options), SchedulerLimits(max_running=running, max_waiting=running))
        service.start()
        try:
            yield service
        finally:
            service.stop()


@contextmanager
def own_cache(folder: Path) -> Iterator[None]:
    """Keep what an engine learns of an evaluated model out of the user's cache."""
    usual = os.environ.get("REDRAFT_CACHE_DIR")
    os.environ["REDRAFT_CACHE_DIR"] = str(folder)
    try:
        yield
    finally:
        del os.environ["REDRAFT_CACHE_DIR"]
        os.environ |= {"REDRAFT_CACHE_DIR": usual} if usual is not None else {}


def run(service: EngineService, chosen: list[Case], running: int, name: str) -> list[Outcome]:
    """Every case's output, several at a time; progress goes to standard error."""
    client, begin = LocalClient(service), time.monotonic()

    def one(case: Case) -> Outcome:
        # More room than any good answer needs; who uses it all has not stopped by himself.
        room = Sampling(
            temperature=0.0, repetition_penalty=1.0, max_output_tokens=case.wanted_tokens + case.tokens // 4 + 48
        )
        request = EditRequest(case.edit.document, case.edit.instruction, sampling=room)
        result = collect(request.document, client.edit(request))
        return Outcome(case, result.text, score(case.edit, case.tokens, result.text, result.complete))

    with ThreadPoolExecutor(running) as pool:
        outcomes = []
        for outcome in pool.map(one, chosen):
            outcomes.append(outcome)
            if len(outcomes) % 20 == 0:
                sys.stderr.write(f"{name}: {len(outcomes)} of {len(chosen)}, {time.monotonic() - begin:.0f} s\n")
    return outcomes


def write_table(results: dict[str, list[Outcome]]) -> None:
    """The models side by side."""
    tables = {name: {row.name: row for row in table([o.score for o in found])} for name, found in results.items()}
    columns = ("exact", "similarity", "kept", "derailed", "chatter")
    sys.stdout.write(f"{'':34}" + "".join(f"{column:<{11 * len(tables)}}" for column in columns) + "\n")
    sys.stdout.write(f"{'':28}{'n':>4}  " + "".join(f"{name:<11}" for _ in columns for name in tables) + "\n")
    for name, row in next(iter(tables.values())).items():
        cells = "".join(f"{getattr(tables[model][name], column):<11.1f}" for column in columns for model in tables)
        sys.stdout.write(f"{name:28}{row.count:>4}  {cells}\n")
    sys.stdout.write("\n")
    figures = {name: summary([o.score for o in found]) for name, found in results.items()}
    for fact in next(iter(figures.values())):
        sys.stdout.write(
            f"{fact:40}" + "".join(f"{name}: {found[fact]:6.1f}   " for name, found in figures.items()) + "\n"
        )


def write_outputs(path: Path, results: dict[str, list[Outcome]]) -> None:
    """Every edit with every model's output, to be read."""
    with path.open("w", encoding="utf-8") as file:
        for name, found in results.items():
            for outcome in found:
                facts = asdict(outcome.case.edit) | {"model": name, "output": outcome.output} | asdict(outcome.score)
                file.write(json.dumps(facts, ensure_ascii=False) + "\n")


def main() -> None:
    """Evaluate as the command line says."""
    asked = command_line()
    chosen = cases(asked, Prompter(AutoTokenizer.from_pretrained(resolve(asked.model))))
    models: dict[str, Path | None] = {} if asked.no_base else {"base": None}
    if asked.adapter:
        models["adapter"] = asked.adapter
    results: dict[str, list[Outcome]] = {}
    for name, adapter in models.items():
        with served(asked.model, adapter, asked.running) as service:
            results[name] = run(service, chosen, asked.running, name)
    if asked.outputs:
        write_outputs(asked.outputs, results)
    if asked.json:
        facts = {
            name: {"rows": [asdict(row) for row in table(scores)], "figures": summary(scores)}
            for name, scores in ((name, [o.score for o in found]) for name, found in results.items())
        }
        sys.stdout.write(json.dumps(facts, indent=2) + "\n")
    else:
        write_table(results)


if __name__ == "__main__":
    main()
