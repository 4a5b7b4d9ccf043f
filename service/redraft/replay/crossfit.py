"""Scores drafting on pairs its prior was not fitted on: `python -m redraft.replay.crossfit TOKENIZER PAIRS.jsonl…`."""

from __future__ import annotations

import json
import math
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from redraft.drafting.compose import ComposedDrafter
from redraft.drafting.learned import Learned
from redraft.drafting.length import CostCurve
from redraft.drafting.planner import Planner
from redraft.drafting.soft import Spelling
from redraft.replay.curves import read_curve
from redraft.replay.fit import encode_pair, fit
from redraft.replay.pairs import Pair, read_pairs
from redraft.replay.simulate import Play, play
from redraft.replay.tokenizer import open_tokenizer


@dataclass(frozen=True, slots=True)
class TokenPair:
    """A pair as token ids, and which half of the sources it belongs to."""

    id: str
    fold: int
    document: list[int]
    output: list[int]


def fold_of(pair: Pair) -> int:
    """0 or 1, the same for all pairs of one repository (the part of `source` before the revision)."""
    return zlib.crc32(pair.source.partition("@")[0].encode()) % 2


def crossfit(
    pairs: Sequence[TokenPair],
    end: int,
    curves: Sequence[CostCurve],
    classes: Sequence[int] | None,
    spelling: Spelling | None = None,
) -> list[dict[str, Play]]:
    """For every curve the plays by pair, each with the prior that was fitted on the other half."""
    halves = [[pair for pair in pairs if pair.fold == fold] for fold in (0, 1)]
    tokens = [[(pair.document, pair.output) for pair in half] for half in halves]
    priors = [fit(tokens[1 - fold], end, curves, classes, spelling) for fold in (0, 1)]
    played: list[dict[str, Play]] = []
    for curve in curves:
        plays: dict[str, Play] = {}
        for half, prior in zip(halves, priors, strict=True):
            planner = Planner(Learned.from_prior(prior.prior_to_json()), curve, classes)
            for pair in half:
                drafter = ComposedDrafter(pair.document, end, planner, spelling=spelling)
                plays[pair.id] = play(drafter, pair.document, pair.output, end, curve)
        played.append(plays)
    return played


def summary(plays: dict[str, Play]) -> dict[str, float | str]:
    """The figures that are quoted: speed-ups by geometric mean, the worst, waste and missed per run over all tokens."""
    speedups = {name: one.speedup for name, one in plays.items()}
    worst = min(speedups, key=speedups.__getitem__)
    tokens = sum(one.output_tokens for one in plays.values())
    return {
        "pairs": len(plays),
        "geometric_mean": round(math.exp(sum(map(math.log, speedups.values())) / len(speedups)), 3),
        "worst": round(speedups[worst], 3),
        "worst_pair": worst,
        "waste": round(sum(one.waste * one.output_tokens for one in plays.values()) / tokens, 3),
        "missed_per_run": round(sum(one.missed for one in plays.values()) / sum(one.runs for one in plays.values()), 3),
    }


def main(
    tokenizer: Annotated[str, typer.Argument(help="demo, a folder or a hub id.")],
    pairs: Annotated[list[Path], typer.Argument(help="JSON-lines files of pairs with a `source` each.")],
    curve: Annotated[list[Path], typer.Option(help="Cost curve file; may be given more than once.")],
) -> None:
    """Fit the prior in two folds by source repository, score each with the other's, print one object a curve."""
    tokens = open_tokenizer(tokenizer)
    read = [
        TokenPair(pair.id, fold_of(pair), *encode_pair(tokens, pair)) for path in pairs for pair in read_pairs(path)
    ]
    curves = [read_curve(path) for path in curve]
    played = crossfit(read, tokens.end, curves, tokens.classes, tokens.spelling)
    for path, plays in zip(curve, played, strict=True):
        sys.stdout.write(json.dumps({"curve": str(path), **summary(plays)}) + "\n")


if __name__ == "__main__":
    typer.run(main)
