"""Pure: logits, options, seed and output position -> token. The choice never looks at a draft's value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from redraft.engine.filters import first_inside, top_k, top_p
from redraft.engine.gumbel import Best, best_of_head, best_perturbed
from redraft.engine.noise import BLOCK, BlockNoise, in_blocks

# Best perturbed ids of a row that are tried against top-p, the last of them only as runner-up: the winner alone is
# inside nearly always. Where none is, the row is sorted.
_TRIED = (2, 6)


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
    logits: torch.Tensor,
    parameters: SamplingParameters,
    position: int,
    history: History,
    ahead: Sequence[int],
    seen: int = 0,
) -> Choices:
    """Choices for consecutive output positions.

    logits: [rows, vocab], row r belongs to output position `position` + r and has seen `history` and ahead[:seen + r].
    """
    counters = tuple((parameters.seed, position + row) for row in range(len(logits)))
    return choose_rows(_scores(logits, parameters, history, ahead, seen), parameters, counters)


def choose_rows(scores: torch.Tensor, parameters: SamplingParameters, counters: tuple[tuple[int, int], ...]) -> Choices:
    """Choices for rows of several edits with the same options; their penalties have been applied already.

    scores: [rows, vocab], before temperature; counters: (seed, output position) of each row.
    """
    scores = scores if scores.dtype == torch.float64 else scores.float()
    if parameters.temperature == 0:
        return _greedy(scores)
    scores = scores / parameters.temperature
    noise = BlockNoise(counters, scores.device)
    return _filtered(scores, parameters, noise) if parameters.filters else _plain(best_perturbed(scores, noise, 2))


def process(
    logits: torch.Tensor, parameters: SamplingParameters, history: History, ahead: Sequence[int], seen: int = 0
) -> torch.Tensor:
    """Processed scores [rows, vocab] in transformers' order; ids that are filtered out are -inf. See `choose`.

    Order: repetition, presence and frequency penalty, temperature, top-k, top-p.
    """
    return filtered(_scores(logits, parameters, history, ahead, seen), parameters)


def filtered(scores: torch.Tensor, parameters: SamplingParameters) -> torch.Tensor:
    """Scores [rows, vocab] over the temperature; ids outside of top-k or top-p are -inf."""
    if parameters.temperature > 0:
        scores = scores / parameters.temperature
    if parameters.filters:
        scores = top_p(top_k(scores, parameters.top_k), parameters.top_p)
    return scores


def _scores(
    logits: torch.Tensor, parameters: SamplingParameters, history: History, ahead: Sequence[int], seen: int
) -> torch.Tensor:
    """Logits with the penalties applied."""
    scores = logits if logits.dtype == torch.float64 else logits.float()
    if not parameters.penalises:
        return scores
    rows = enumerate(scores, start=seen)
    return torch.stack([_penalised(row, parameters, history, ahead[:count]) for count, row in rows])


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


def _greedy(scores: torch.Tensor) -> Choices:
    """The two best ids a row by block maxima, which reads the vocabulary once; ties go to the lowest id."""
    blocks = in_blocks(scores)
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
    """The best perturbed ids are tried against top-p, so that no row is sorted unless all of them fall outside."""
    choices, outside = _tried(scores, parameters, noise, _TRIED[0])
    for count in _TRIED[1:]:
        if not outside:
            return choices
        again, still = _tried(scores[outside], parameters, noise.rows(outside), count)
        choices = _replaced(choices, outside, again)
        outside = [outside[place] for place in still]
    if not outside:
        return choices
    kept = top_p(top_k(scores[outside], parameters.top_k), parameters.top_p)
    return _replaced(choices, outside, _plain(best_perturbed(kept, noise.rows(outside), 2)))


def _tried(
    scores: torch.Tensor, parameters: SamplingParameters, noise: BlockNoise, count: int
) -> tuple[Choices, list[int]]:
    """Choices among the `count` best perturbed ids of each row, and the rows where top-p keeps none but the last."""
    if 0 < parameters.top_k < scores.shape[-1]:
        pool, best = best_of_head(scores, parameters.top_k, noise, count)
    else:
        pool, best = scores, best_perturbed(scores, noise, count)
    if parameters.top_p >= 1.0:
        return _plain(best), []
    inside = first_inside(pool, best.scores, parameters.top_p)
    first = inside.index[:, None]
    margins = (best.perturbed.gather(1, first) - best.perturbed.gather(1, first + 1)).flatten()
    ids, runners_up = best.ids.gather(1, first).flatten(), best.ids.gather(1, first + 1).flatten()
    choices = _choices(ids, torch.minimum(margins, inside.edge), runners_up)
    return choices, (~inside.found).nonzero().flatten().tolist()


def _plain(best: Best) -> Choices:
    return _choices(best.ids[:, 0], best.perturbed[:, 0] - best.perturbed[:, 1], best.ids[:, 1])


def _replaced(choices: Choices, rows: list[int], others: Choices) -> Choices:
    """The choices with some rows taken from others."""
    merged = Choices(list(choices.tokens), list(choices.margins), list(choices.runners_up))
    for place, row in enumerate(rows):
        merged.tokens[row] = others.tokens[place]
        merged.margins[row] = others.margins[place]
        merged.runners_up[row] = others.runners_up[place]
    return merged


def _choices(tokens: torch.Tensor, margins: torch.Tensor, runners_up: torch.Tensor) -> Choices:
    """One transfer from the device."""
    table = torch.stack([tokens.double(), margins.double(), runners_up.double()]).cpu()
    first, margin, second = table.tolist()
    return Choices([int(token) for token in first], margin, [int(token) for token in second])
