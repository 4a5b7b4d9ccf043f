"""Pure: logits, options, seed and output position -> token. The choice never looks at a draft's value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn import functional as F

from redraft.engine.noise import BLOCK, BlockNoise

_TOP_P_BLOCKS = 24  # likeliest blocks that top-p is first tried on
_TOP_P_FIRST, _TOP_P_SECOND = 256, 4096  # best ids looked at before the whole row is sorted
_LOOKED_INTO = 8  # blocks whose noise is drawn before the others are ruled out by their bound


@dataclass(frozen=True, slots=True)
class SamplingParameters:
    """Resolved sampling options: no value is missing."""

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int = 0

    @property
    def penalises(self) -> bool:
        return self.repetition_penalty != 1.0 or self.presence_penalty != 0.0 or self.frequency_penalty != 0.0

    @property
    def filters(self) -> bool:
        return self.temperature > 0 and (self.top_k > 0 or self.top_p < 1.0)


@dataclass(frozen=True, slots=True)
class Choices:
    """The target's choice at consecutive output positions, with the margin by which each was won.

    margins are in perturbed score units (greedy: logits), that is after division by the temperature.
    runners_up: the second choice.
    """

    tokens: list[int]
    margins: list[float]
    runners_up: list[int]


class History:
    """What the penalties count: prompt and output for repetition, the output alone for presence and frequency."""

    def __init__(self, prompt: Sequence[int]) -> None:
        self._prompt = set(prompt)
        self.output: Counter[int] = Counter()

    def append(self, tokens: Sequence[int]) -> None:
        self.output.update(tokens)

    def repeated(self, ahead: Sequence[int]) -> list[int]:
        """Every id of prompt and output, and of the accepted draft tokens `ahead`."""
        return sorted(self._prompt | self.output.keys() | set(ahead))

    def counts(self, ahead: Sequence[int]) -> Counter[int]:
        """How often each id occurs in the output, `ahead` included."""
        return self.output + Counter(ahead)


def choose(
    logits: torch.Tensor, parameters: SamplingParameters, position: int, history: History, ahead: Sequence[int]
) -> Choices:
    """Choices for consecutive output positions.

    logits: [rows, vocab], row r belongs to output position `position` + r and has seen `history` and ahead[:r].
    """
    counters = tuple((parameters.seed, position + row) for row in range(len(logits)))
    return choose_rows(_scores(logits, parameters, history, ahead), parameters, counters)


def choose_rows(scores: torch.Tensor, parameters: SamplingParameters, counters: tuple[tuple[int, int], ...]) -> Choices:
    """Choices for rows of several edits with the same options; their penalties have been applied already.

    scores: [rows, vocab], before temperature; counters: (seed, output position) of each row.
    """
    scores = scores if scores.dtype == torch.float64 else scores.float()
    if parameters.temperature == 0:
        return _greedy(scores)
    scores = scores / parameters.temperature
    noise = BlockNoise(counters, scores.device)
    return _filtered(scores, parameters, noise) if parameters.filters else _perturbed(scores, noise)


def process(
    logits: torch.Tensor, parameters: SamplingParameters, history: History, ahead: Sequence[int]
) -> torch.Tensor:
    """Processed scores [rows, vocab] in transformers' order; ids that are filtered out are -inf.

    Order: repetition, presence and frequency penalty, temperature, top-k, top-p.
    """
    scores = _scores(logits, parameters, history, ahead)
    if parameters.temperature > 0:
        scores = scores / parameters.temperature
    if parameters.filters:
        scores = _top_p(_top_k(scores, parameters.top_k), parameters.top_p)
    return scores


def _scores(
    logits: torch.Tensor, parameters: SamplingParameters, history: History, ahead: Sequence[int]
) -> torch.Tensor:
    """Logits with the penalties applied."""
    scores = logits if logits.dtype == torch.float64 else logits.float()
    if not parameters.penalises:
        return scores
    return torch.stack([_penalised(row, parameters, history, ahead[:index]) for index, row in enumerate(scores)])


def _penalised(
    row: torch.Tensor, parameters: SamplingParameters, history: History, ahead: Sequence[int]
) -> torch.Tensor:
    row = row.clone()
    if parameters.repetition_penalty != 1.0:
        ids = torch.tensor(history.repeated(ahead), device=row.device)
        seen = row[ids]
        penalty = parameters.repetition_penalty
        row[ids] = torch.where(seen < 0, seen * penalty, seen / penalty)
    counts = history.counts(ahead)
    if counts and (parameters.presence_penalty or parameters.frequency_penalty):
        ids = torch.tensor(list(counts), device=row.device)
        times = torch.tensor(list(counts.values()), dtype=row.dtype, device=row.device)
        row[ids] -= parameters.presence_penalty + parameters.frequency_penalty * times
    return row


def _top_k(scores: torch.Tensor, k: int) -> torch.Tensor:
    if not 0 < k < scores.shape[-1]:
        return scores
    return scores.masked_fill(scores < scores.topk(k).values[:, -1:], -torch.inf)


def _top_p(scores: torch.Tensor, p: float) -> torch.Tensor:
    """Keep the ids whose more probable ids together stay below p; sorts the whole row only if it has to."""
    if p >= 1.0:
        return scores
    total = torch.logsumexp(scores, dim=-1, keepdim=True)
    cutoff, found = _top_p_cutoff(scores, total, p, _TOP_P_SECOND)
    rows = (~found).flatten().nonzero().flatten()
    if len(rows):
        cutoff[rows] = _top_p_cutoff(scores[rows], total[rows], p, scores.shape[-1])[0]
    return scores.masked_fill(scores < cutoff, -torch.inf)


def _top_p_cutoff(scores: torch.Tensor, total: torch.Tensor, p: float, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The smallest score that is kept, and whether the `count` best hold enough to tell; both [rows, 1]."""
    count = min(count, scores.shape[-1])
    ordered = scores.topk(count).values
    together = (ordered - total).exp().cumsum(-1)
    above = together.roll(1, dims=-1)
    above[:, 0] = 0.0
    cutoff = ordered.masked_fill(above >= p, torch.inf).amin(-1, keepdim=True)
    return cutoff, (together[:, -1:] >= p) | (count == scores.shape[-1])


def _blocks(scores: torch.Tensor) -> torch.Tensor:
    """[rows, blocks, 64], padded with -inf."""
    missing = -scores.shape[-1] % BLOCK
    if missing:
        scores = F.pad(scores, (0, missing), value=-torch.inf)
    return scores.view(len(scores), -1, BLOCK)


def _greedy(scores: torch.Tensor) -> Choices:
    """The two best ids a row by block maxima, which reads the vocabulary once; ties go to the lowest id."""
    blocks = _blocks(scores)
    best_of = blocks.amax(-1)
    best, first = best_of.max(-1)
    rows = torch.arange(len(scores), device=scores.device)
    inside = blocks[rows, first]
    offset = inside.argmax(-1)
    inside = inside.scatter(-1, offset[:, None], -torch.inf)
    elsewhere, other = best_of.scatter(-1, first[:, None], -torch.inf).max(-1)
    near, near_offset = inside.max(-1)
    second = torch.maximum(near, elsewhere)
    other_id = other * BLOCK + blocks[rows, other].argmax(-1)
    second_id = torch.where(near >= elsewhere, first * BLOCK + near_offset, other_id)
    return _choices(first * BLOCK + offset, best - second, second_id)


def _filtered(scores: torch.Tensor, parameters: SamplingParameters, noise: BlockNoise) -> Choices:
    """Top-k, top-p and the noise within the likeliest blocks alone; the long way for rows that reach further."""
    index, head, outside = _likeliest(scores, max(_TOP_P_BLOCKS, parameters.top_k))
    undecided = torch.zeros_like(outside, dtype=torch.bool)
    if 0 < parameters.top_k < head.shape[1]:
        # The k best ids are in the k best blocks, so what is outside plays no part any more.
        head = head.masked_fill(head < head.topk(parameters.top_k).values[:, -1:], -torch.inf)
        outside = outside - torch.inf
    if parameters.top_p < 1.0:
        total = torch.logsumexp(head if parameters.top_k else scores, dim=-1, keepdim=True)
        cutoff, found = _top_p_cutoff(head, total, parameters.top_p, _TOP_P_FIRST)
        undecided = ~found | (cutoff <= outside)
        head = head.masked_fill(head < cutoff, -torch.inf)
    perturbed = head.double() + noise.tokens(index, noise.largest(index)).flatten(1)
    best, where = perturbed.topk(2)
    ids = index.gather(1, where // BLOCK) * BLOCK + where % BLOCK
    short = _choices(ids[:, 0], best[:, 0] - best[:, 1], ids[:, 1])
    rows = undecided.flatten().nonzero().flatten()
    if not len(rows):
        return short
    kept = _top_p(_top_k(scores[rows], parameters.top_k), parameters.top_p)
    return _replaced(short, rows.tolist(), _perturbed(kept, noise.rows(rows.tolist())))


def _likeliest(scores: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The `count` blocks with the largest maxima: their numbers, their scores [rows, count * 64], and the largest
    score outside them [rows, 1]."""
    blocks = _blocks(scores)
    best_of = blocks.amax(-1)
    count = min(count, best_of.shape[1])
    top, index = best_of.topk(min(count + 1, best_of.shape[1]))
    outside = top[:, count:].amax(-1, keepdim=True) if top.shape[1] > count else top[:, :1] - torch.inf
    index = index[:, :count]
    return index, blocks.gather(1, index[..., None].expand(-1, -1, BLOCK)).flatten(1), outside


def _replaced(choices: Choices, rows: list[int], others: Choices) -> Choices:
    """The choices with some rows taken from others."""
    merged = Choices(list(choices.tokens), list(choices.margins), list(choices.runners_up))
    for place, row in enumerate(rows):
        merged.tokens[row] = others.tokens[place]
        merged.margins[row] = others.margins[place]
        merged.runners_up[row] = others.runners_up[place]
    return merged


def _perturbed(scores: torch.Tensor, noise: BlockNoise) -> Choices:
    """argmax of scores + Gumbel noise, looking only into blocks that can still win or come second."""
    blocks = _blocks(scores)
    largest = noise.all_blocks(blocks.shape[1])
    best, ids, open_rows = _best_two(blocks, largest, noise, _LOOKED_INTO)
    looked = _LOOKED_INTO
    while len(rows := open_rows.nonzero().flatten()):
        looked = min(4 * looked, blocks.shape[1])
        again = _best_two(blocks[rows], largest[rows], noise.rows(rows.tolist()), looked)
        best[rows], ids[rows], open_rows[rows] = again
    return _choices(ids[:, 0], best[:, 0] - best[:, 1], ids[:, 1])


def _best_two(
    blocks: torch.Tensor, largest: torch.Tensor, noise: BlockNoise, looked: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The two largest perturbed scores [rows, 2] within `looked` blocks, their ids, and which rows need more."""
    bound = blocks.amax(-1).double() + largest
    looked = min(looked, bound.shape[1])
    top, index = bound.topk(min(looked + 1, bound.shape[1]))
    index = index[:, :looked]
    inside = blocks.gather(1, index[..., None].expand(-1, -1, BLOCK)).double()
    perturbed = (inside + noise.tokens(index, largest.gather(1, index))).flatten(1)
    best, where = perturbed.topk(2)
    ids = index.gather(1, where // BLOCK) * BLOCK + where % BLOCK
    undecided = (top[:, -1] > best[:, 1]) & (looked < bound.shape[1])
    return best, ids, undecided


def _choices(tokens: torch.Tensor, margins: torch.Tensor, runners_up: torch.Tensor) -> Choices:
    """One transfer from the device."""
    table = torch.stack([tokens.double(), margins.double(), runners_up.double()]).cpu()
    first, margin, second = table.tolist()
    return Choices([int(token) for token in first], margin, [int(token) for token in second])
