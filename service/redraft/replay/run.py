"""Plays pairs with drafters by their names: what each would have saved on a cost curve."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from redraft.drafting.base import Drafter, NoDraft
from redraft.drafting.compose import ComposedDrafter
from redraft.drafting.learned import Learned
from redraft.drafting.length import CostCurve
from redraft.drafting.planner import Planner
from redraft.engine.spans import align, kept_tokens
from redraft.replay.models import Fill, WithModel
from redraft.replay.pairs import Pair
from redraft.replay.peers import LineResync, NGram, PromptLookup, SuffixDecoding, TokenResync
from redraft.replay.simulate import Play, play
from redraft.replay.tokenizer import Tokens

OURS = "redraft"
WITH_MODEL = "redraft+model"

Make = Callable[[Pair, list[int]], Drafter]
"""A drafter for one pair, whose document has these tokens."""


@dataclass(frozen=True, slots=True)
class Table:
    """What pairs are played on: the tokenizer and the cost of a pass."""

    tokens: Tokens
    curve: CostCurve
    learning: bool = True  # whether `redraft` goes on learning from one pair to the next
    fill: Fill | None = None  # a draft model for `redraft+model`


@dataclass(frozen=True, slots=True)
class Result:
    """One pair played with one drafter. kept: output tokens that lie in kept or moved text, drafted or not."""

    id: str
    kind: str
    drafter: str
    play: Play
    kept: int

    @property
    def coverage(self) -> float:
        return self.kept / self.play.output_tokens

    @property
    def oracle_coverage(self) -> float:
        return self.play.lcs / self.play.output_tokens


@dataclass(frozen=True, slots=True)
class Summary:
    """All pairs of one drafter. The shares are over all tokens, so that a long pair counts for more.

    geometric_mean and worst: of the pairs' modelled speed-ups; by_kind: the geometric mean of each kind's;
    missed_per_run: tokens of the LCS that no draft gave / contiguous runs of the LCS; waste: rejected / output tokens.
    """

    drafter: str
    pairs: int
    output_tokens: int
    passes: int
    geometric_mean: float
    worst: float
    worst_pair: str
    by_kind: dict[str, float]
    coverage: float
    oracle_coverage: float
    missed_per_run: float
    waste: float


def _ours(table: Table) -> Make:
    shared = Planner(Learned.shipped(), table.curve, table.tokens.classes)

    def make(pair: Pair, document: list[int]) -> Drafter:
        planner = shared if table.learning else Planner(Learned.shipped(), table.curve, table.tokens.classes)
        return ComposedDrafter(document, table.tokens.end, planner, spelling=table.tokens.spelling)

    return make


def _with_model(table: Table) -> Make:
    fill = table.fill
    if fill is None:
        raise ValueError(f"{WITH_MODEL} needs a draft model")
    planner = Planner(Learned.shipped(), table.curve, table.tokens.classes)

    def make(pair: Pair, document: list[int]) -> Drafter:
        spelling = table.tokens.spelling
        ours = ComposedDrafter(document, table.tokens.end, planner, has_model=True, spelling=spelling)
        return WithModel(ours, fill, pair)

    return make


def _line_resync(table: Table) -> Make:
    breaks = frozenset(token for token, text in enumerate(table.tokens.vocabulary.texts()) if "\n" in text)
    return lambda pair, document: LineResync(document, table.tokens.end, breaks)


DRAFTERS: Mapping[str, Callable[[Table], Make]] = {
    OURS: _ours,
    WITH_MODEL: _with_model,
    "prompt-lookup": lambda table: lambda pair, document: PromptLookup(),
    "ngram": lambda table: lambda pair, document: NGram(),
    "suffix-2": lambda table: lambda pair, document: SuffixDecoding(document, 2),
    "suffix-4": lambda table: lambda pair, document: SuffixDecoding(document, 4),
    "suffix-4-deep": lambda table: lambda pair, document: SuffixDecoding(document, 4, longest=64, length=256),
    "line-resync": _line_resync,
    "token-resync": lambda table: lambda pair, document: TokenResync(document, table.tokens.end),
    "none": lambda table: lambda pair, document: NoDraft(),
}
"""Drafters by name: ours, without and with a draft model, the peers, and none at all."""


def replay(pairs: Sequence[Pair], drafters: Sequence[str], table: Table) -> Iterator[Result]:
    """Play every pair with every drafter, pair by pair in their order; the same input gives the same results.

    The learning of `redraft` starts from the shipped prior and goes on over the pairs as it would in a server, so that
    the order of the pairs matters a little to it. Raises ValueError for an unknown drafter or a pair that is not text.
    """
    makes = {name: _named(name)(table) for name in drafters}
    for pair in pairs:
        document, output, kept = _tokens(pair, table.tokens)
        for name, make in makes.items():
            played = play(make(pair, document), document, output, table.tokens.end, table.curve)
            yield Result(pair.id, pair.kind, name, played, kept)


def _named(name: str) -> Callable[[Table], Make]:
    if name not in DRAFTERS:
        raise ValueError(f"no drafter is called {name!r}; there are {', '.join(DRAFTERS)}")
    return DRAFTERS[name]


def _tokens(pair: Pair, tokens: Tokens) -> tuple[list[int], list[int], int]:
    """Ids of the document and of the output, and how many of the output's lie in kept text."""
    try:
        document, output = tokens.vocabulary.encode(pair.before), tokens.vocabulary.encode(pair.after)
    except (TypeError, UnicodeEncodeError) as error:
        raise ValueError(f"pair {pair.id}: before and after must be text ({error})") from error
    return document.ids, output.ids, kept_tokens(align(pair.before, pair.after), output.ends)


def summarize(results: Sequence[Result]) -> Summary:
    """The summary of one drafter's results; there is at least one."""
    plays = [result.play for result in results]
    worst = min(results, key=lambda result: result.play.speedup)
    tokens = sum(one.output_tokens for one in plays)
    rejected = sum(sum(one.drafted) - sum(one.accepted) for one in plays)
    kinds = sorted({result.kind for result in results})
    return Summary(
        drafter=results[0].drafter,
        pairs=len(results),
        output_tokens=tokens,
        passes=sum(len(one.drafted) for one in plays),
        geometric_mean=_mean(plays),
        worst=worst.play.speedup,
        worst_pair=worst.id,
        by_kind={kind: _mean([result.play for result in results if result.kind == kind]) for kind in kinds},
        coverage=sum(result.kept for result in results) / tokens,
        oracle_coverage=sum(one.lcs for one in plays) / tokens,
        missed_per_run=sum(one.missed for one in plays) / max(1, sum(one.runs for one in plays)),
        waste=rejected / tokens,
    )


def _mean(plays: Sequence[Play]) -> float:
    return math.exp(sum(math.log(one.speedup) for one in plays) / len(plays))
