"""Fits the survival prior: `python -m redraft.replay.fit TOKENIZER PAIRS.jsonl… --curve CURVE.json`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from redraft.drafting.compose import ComposedDrafter
from redraft.drafting.learned import Learned
from redraft.drafting.length import CostCurve
from redraft.drafting.planner import Planner
from redraft.drafting.soft import Spelling
from redraft.drafting.survival import Hazards
from redraft.replay.curves import read_curve
from redraft.replay.pairs import Pair, read_pairs
from redraft.replay.simulate import play
from redraft.replay.tokenizer import Tokens, open_tokenizer

_CAP = 120.0  # trials of a kind's first depth in the shipped prior: enough to lead, few enough to be outlearned
_PASSES = 2  # the second with the first's result as prior, since kinds met depend on the lengths drafted


def fit(
    pairs: list[tuple[list[int], list[int]]],
    end: int,
    curves: Iterable[CostCurve],
    classes: Sequence[int] | None,
    spelling: Spelling | None = None,
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
                play(ComposedDrafter(document, end, planner, spelling=spelling), document, output, end, curve)
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
    tokenizer: Annotated[str, typer.Argument(help="demo, a folder or a hub id.")],
    pairs: Annotated[list[Path], typer.Argument(help="JSON-lines files of pairs.")],
    curve: Annotated[list[Path], typer.Option(help="Cost curve file; may be given more than once.")],
) -> None:
    """Print the fitted prior as JSON."""
    tokens = open_tokenizer(tokenizer)
    played = [encode_pair(tokens, pair) for path in pairs for pair in read_pairs(path)]
    curves = [read_curve(path) for path in curve]
    learned = fit(played, tokens.end, curves, tokens.classes, tokens.spelling)
    json.dump(learned.prior_to_json(), sys.stdout, indent=0)


def encode_pair(tokens: Tokens, pair: Pair) -> tuple[list[int], list[int]]:
    """Ids of a pair's document and of its output."""
    return tokens.vocabulary.encode(pair.before).ids, tokens.vocabulary.encode(pair.after).ids


if __name__ == "__main__":
    typer.run(main)
