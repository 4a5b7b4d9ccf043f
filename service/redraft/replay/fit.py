"""Fits the survival prior: `python -m redraft.replay.fit TOKENIZER PAIRS.jsonl… --curve CURVE.json`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from redraft.drafting.classes import classes_of
from redraft.drafting.compose import ComposedDrafter
from redraft.drafting.learned import Learned
from redraft.drafting.length import CostCurve
from redraft.drafting.planner import Planner
from redraft.drafting.survival import Hazards
from redraft.engine.vocabulary import Vocabulary
from redraft.replay.pairs import Pair, read_pairs
from redraft.replay.simulate import play

_CAP = 120.0  # trials of a kind's first depth in the shipped prior: enough to lead, few enough to be outlearned
_PASSES = 2  # the second with the first's result as prior, since kinds met depend on the lengths drafted


def read_curve(path: Path) -> CostCurve:
    """A cost curve file: {"points": [[query_tokens, cost], …]}. Raises ValueError if it is not one."""
    try:
        points = json.loads(path.read_text(encoding="utf-8"))["points"]
        return CostCurve(tuple((int(queries), float(cost)) for queries, cost in points))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: not a cost curve ({error!r})") from error


def fit(
    pairs: list[tuple[list[int], list[int]]], end: int, curves: Iterable[CostCurve], classes: Sequence[int] | None
) -> Learned:
    """What is learned from playing every (document, output) on every curve: counts capped, with a prior a family."""
    prior: dict[str, Hazards] = {}
    weights: list[float] | None = None
    curves = list(curves)
    for _ in range(_PASSES):
        learned = Learned(prior, weights)
        for curve in curves:
            planner = Planner(learned, curve, classes)
            for document, output in pairs:
                play(ComposedDrafter(document, end, planner), document, output, end, curve)
        prior, weights = _capped(dict(learned.survival.counts())), learned.confidence.weights
    return Learned(prior, weights)


def _capped(counts: dict[str, Hazards]) -> dict[str, Hazards]:
    families: dict[str, Hazards] = {}
    for kind, hazards in counts.items():
        family = families.setdefault(kind.partition("/")[0], Hazards())
        family.trials += hazards.trials
        family.failures += hazards.failures
    return {kind: _scaled(hazards) for kind, hazards in sorted((counts | families).items())}


def _scaled(hazards: Hazards) -> Hazards:
    factor = min(1.0, _CAP / max(1.0, float(hazards.trials[0])))
    return Hazards(np.round(hazards.trials * factor, 2), np.round(hazards.failures * factor, 3))


def main(
    tokenizer: Annotated[str, typer.Argument(help="Folder or hub id.")],
    pairs: Annotated[list[Path], typer.Argument(help="JSON-lines files of pairs.")],
    curve: Annotated[list[Path], typer.Option(help="Cost curve file; may be given more than once.")],
) -> None:
    """Print the fitted prior as JSON."""
    vocabulary = Vocabulary(encode := AutoTokenizer.from_pretrained(tokenizer))
    played = [tokens_of(encode, pair) for path in pairs for pair in read_pairs(path)]
    curves = [read_curve(path) for path in curve]
    learned = fit(played, int(encode.eos_token_id), curves, classes_of(vocabulary.texts()))
    json.dump(learned.prior_to_json(), sys.stdout, indent=0)


def tokens_of(tokenizer: PreTrainedTokenizerBase, pair: Pair) -> tuple[list[int], list[int]]:
    """Document and output of a pair, without special tokens."""
    texts = (pair.before, pair.after)
    before, after = (tokenizer(t, add_special_tokens=False, split_special_tokens=True)["input_ids"] for t in texts)
    return before, after


if __name__ == "__main__":
    typer.run(main)
