"""Top-k and top-p: as masks over whole rows, and as a test of a few ids that needs no sorting."""

from __future__ import annotations

from dataclasses import dataclass

import torch

_SORTED_FIRST = 1024  # best ids sorted before the whole row is


@dataclass(frozen=True, slots=True)
class Inside:
    """Which of a row's candidates is the first that top-p keeps; all [rows].

    index: its place among the candidates, never the last; found: whether there is one. edge: by how much the nearest
    of the tested candidates' decisions was taken, in score units: a change of the logits by so much could turn it.
    """

    index: torch.Tensor
    found: torch.Tensor
    edge: torch.Tensor


def top_k(scores: torch.Tensor, k: int) -> torch.Tensor:
    """scores [rows, ids] with all but the k best (and what ties with the last of them) at -inf; 0 is off."""
    if not 0 < k < scores.shape[-1]:
        return scores
    return scores.masked_fill(scores < scores.topk(k).values[:, -1:], -torch.inf)


def top_p(scores: torch.Tensor, p: float) -> torch.Tensor:
    """scores [rows, ids] with only the ids kept whose better ids together stay below p (Holtzman et al. 2019)."""
    if p >= 1.0:
        return scores
    total = torch.logsumexp(scores, dim=-1, keepdim=True)
    cutoff, found = _cutoff(scores, total, p, _SORTED_FIRST)
    rows = (~found).flatten().nonzero().flatten()
    if len(rows):
        cutoff[rows] = _cutoff(scores[rows], total[rows], p, scores.shape[-1])[0]
    return scores.masked_fill(scores < cutoff, -torch.inf)


def first_inside(scores: torch.Tensor, candidates: torch.Tensor, p: float) -> Inside:
    """The first candidate of each row that top-p keeps, best perturbed first.

    scores: [rows, ids]; candidates: their scores [rows, count]. One is kept when the ids with a larger score together
    stay below p, which is one sum over the row and no sort; later candidates are only tried where the first failed.
    """
    weights = (scores - scores.amax(-1, keepdim=True)).exp()
    total = weights.sum(-1)
    index = torch.zeros(len(scores), dtype=torch.int64, device=scores.device)
    edge = torch.full((len(scores),), torch.inf, dtype=torch.float64, device=scores.device)
    rows = torch.arange(len(scores), device=scores.device)
    for place in range(candidates.shape[1] - 1):
        whole = place == 0
        above = _mass_above(scores if whole else scores[rows], weights if whole else weights[rows],
                            candidates[rows, place]) / total[rows]  # fmt: skip
        edge[rows] = torch.minimum(edge[rows], (above - p).abs().double() / (p * (1.0 - p)))
        rows = rows[above >= p]
        if not len(rows):
            break
        index[rows] = min(place + 1, candidates.shape[1] - 2)
    found = torch.ones(len(scores), dtype=torch.bool, device=scores.device)
    found[rows] = False
    return Inside(index, found, edge)


def _mass_above(scores: torch.Tensor, weights: torch.Tensor, candidate: torch.Tensor) -> torch.Tensor:
    """[rows]: summed weight of the ids that score more than the candidate."""
    return torch.where(scores > candidate[:, None], weights, 0.0).sum(-1)


def _cutoff(scores: torch.Tensor, total: torch.Tensor, p: float, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The smallest score that is kept, and whether the `count` best hold enough to tell; both [rows, 1]."""
    count = min(count, scores.shape[-1])
    ordered = scores.topk(count).values
    together = (ordered - total).exp().cumsum(-1)
    above = together.roll(1, dims=-1)
    above[:, 0] = 0.0
    cutoff = ordered.masked_fill(above >= p, torch.inf).amin(-1, keepdim=True)
    return cutoff, (together[:, -1:] >= p) | (count == scores.shape[-1])
