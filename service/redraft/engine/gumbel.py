"""The largest perturbed scores of a row (the Gumbel-max trick), found in the few blocks of ids that can hold them."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from redraft.engine.noise import BLOCK, BlockNoise, in_blocks

_LOOKED_INTO = 16  # blocks whose noise is drawn before the others are ruled out by their bound


@dataclass(frozen=True, slots=True)
class Best:
    """The `count` ids of each row with the largest scores + noise, best first; all [rows, count]."""

    ids: torch.Tensor  # int64
    perturbed: torch.Tensor  # float64
    scores: torch.Tensor  # without the noise

    def put(self, rows: torch.Tensor, other: Best) -> None:
        """Overwrite some rows."""
        self.ids[rows], self.perturbed[rows], self.scores[rows] = other.ids, other.perturbed, other.scores


def best_perturbed(scores: torch.Tensor, noise: BlockNoise, count: int) -> Best:
    """The `count` largest of scores [rows, ids] + Gumbel noise.

    A block's best score plus its largest noise bounds what it can hold. Blocks are looked into by falling bound until
    none that is left can matter, as in Maddison, Tarlow and Minka 2014.
    """
    blocks = in_blocks(scores)
    largest = noise.all_blocks(blocks.shape[1])
    bound = blocks.amax(-1).double() + largest
    looked = min(_LOOKED_INTO, blocks.shape[1])
    rows = torch.arange(len(scores), device=scores.device)
    best, undecided = _within(blocks, rows, bound, largest, noise, looked, count)
    while len(rows := undecided.nonzero().flatten()):
        looked = min(4 * looked, blocks.shape[1])
        again, still = _within(blocks, rows, bound[rows], largest[rows], noise.rows(rows.tolist()), looked, count)
        best.put(rows, again)
        undecided[rows] = still
    return best


def best_of_head(scores: torch.Tensor, k: int, noise: BlockNoise, count: int) -> tuple[torch.Tensor, Best]:
    """The `count` largest perturbed scores among the k best ids, and the scores of those (-inf: others) [rows, n].

    The k best ids lie in the k blocks with the largest maxima, so nothing outside of them is looked at.
    """
    blocks = in_blocks(scores)
    index = blocks.amax(-1).topk(min(k, blocks.shape[1])).indices
    head = blocks.gather(1, index[..., None].expand(-1, -1, BLOCK)).flatten(1)
    head = head.masked_fill(head < head.topk(k).values[:, -1:], -torch.inf)
    return head, _top(head, index, noise.tokens(index, noise.largest(index)), count)


def _within(
    blocks: torch.Tensor,
    rows: torch.Tensor,
    bound: torch.Tensor,
    largest: torch.Tensor,
    noise: BlockNoise,
    looked: int,
    count: int,
) -> tuple[Best, torch.Tensor]:
    """The best of the `looked` blocks with the largest bounds, and which rows need more blocks."""
    top, index = bound.topk(min(looked + 1, bound.shape[1]))
    index = index[:, :looked]
    inside = blocks[rows[:, None], index].flatten(1)
    best = _top(inside, index, noise.tokens(index, largest.gather(1, index)), count)
    undecided = (top[:, -1] > best.perturbed[:, -1]) & (looked < bound.shape[1])
    return best, undecided


def _top(scores: torch.Tensor, index: torch.Tensor, noise: torch.Tensor, count: int) -> Best:
    """The best of the blocks int64[rows, blocks] with scores [rows, blocks * 64] and noise [rows, blocks, 64]."""
    values, where = (scores.double() + noise.flatten(1)).topk(count)
    ids = index.gather(1, where // BLOCK) * BLOCK + where % BLOCK
    return Best(ids, values, scores.gather(1, where))
