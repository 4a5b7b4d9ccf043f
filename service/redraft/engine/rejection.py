"""Pure: speculative sampling by rejection (Leviathan, Kalman and Matias 2022; Chen et al. 2023), for drawn tokens."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from redraft.engine.gumbel import best_perturbed
from redraft.engine.noise import BlockNoise, uniform
from redraft.engine.sampling import Choices, History, SamplingParameters, choose, filtered, process

# Streams of one (seed, position) that the target's own choice, stream 0, never touches.
_DRAFT, _TEST, _RESIDUAL = 1, 2, 3
_CERTAIN = 1e9  # margin of a token that was not chosen by comparing scores


def draw(logits: torch.Tensor, parameters: SamplingParameters, position: int) -> tuple[int, torch.Tensor]:
    """A token for an output position from the draft model's logits [vocab], and the distribution it was drawn from."""
    distribution = filtered(logits[None].double(), parameters)[0].softmax(-1)
    return _sampled(distribution, parameters.seed, position, _DRAFT), distribution


class RejectionChooser:
    """Implements `accept.Choose` where the draft's first tokens were drawn from known distributions.

    Token x of distribution q is kept with probability min(1, p(x) / q(x)), else one is drawn from max(0, p - q),
    normalised. Either way the token has the target's distribution p. Behind the drawn tokens the usual choice decides.
    Whether a drawn token is proposed at all must not have depended on its value.
    """

    def __init__(
        self, parameters: SamplingParameters, position: int, history: History, distributions: Sequence[torch.Tensor]
    ) -> None:
        """position: of the first draft token in the output; distributions: [vocab] each, of the drawn tokens."""
        self._parameters = parameters
        self._position = position
        self._history = history
        self._distributions = distributions

    def __call__(self, logits: torch.Tensor, offset: int, ahead: Sequence[int]) -> Choices:
        """See `accept.Choose`."""
        drawn = max(0, min(len(logits), len(self._distributions) - offset))
        tokens: list[int] = []
        for row, p in enumerate(self._target(logits[:drawn], offset, ahead)):
            tokens.append(self._test(p, ahead[offset + row], offset + row))
            if tokens[-1] != ahead[offset + row]:
                return Choices(tokens, [_CERTAIN] * len(tokens), list(tokens))
        if drawn == len(logits):
            return Choices(tokens, [_CERTAIN] * drawn, list(tokens))
        place = offset + drawn
        rest = choose(logits[drawn:], self._parameters, self._position + place, self._history, ahead, place)
        return Choices([*tokens, *rest.tokens], [*[_CERTAIN] * drawn, *rest.margins], [*tokens, *rest.runners_up])

    def _target(self, logits: torch.Tensor, offset: int, ahead: Sequence[int]) -> torch.Tensor:
        """p, [rows, vocab]."""
        if not len(logits):
            return logits
        return process(logits, self._parameters, self._history, ahead, offset).softmax(-1)

    def _test(self, p: torch.Tensor, token: int, place: int) -> int:
        q = self._distributions[place].to(p)
        position, seed = self._position + place, self._parameters.seed
        if uniform(_seed(seed, _TEST), position) * float(q[token]) < float(p[token]):
            return token
        residual = p.clone()
        shared = min(len(p), len(q))
        residual[:shared] -= q[:shared]
        return _sampled(residual.clamp(min=0.0), seed, position, _RESIDUAL)


def _sampled(weights: torch.Tensor, seed: int, position: int, stream: int) -> int:
    noise = BlockNoise(((_seed(seed, stream), position),), weights.device)
    return int(best_perturbed(weights.double().log()[None], noise, 1).ids[0, 0])


def _seed(seed: int, stream: int) -> int:
    """A seed whose noise has nothing to do with that of `seed`."""
    return (seed + stream * 0xD1B54A32D192ED03) & ((1 << 64) - 1)
