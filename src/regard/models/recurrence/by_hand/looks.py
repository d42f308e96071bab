"""Looks taken one after another, with gradients worked out by hand; time-major, `t b ...`.

Of what a look costs, all that need not wait for the step before is left for one large product at the end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor

from regard.models.recurrence.by_hand.cells import Rows, Steps, add_product, outer, product

ROOM = 1 << 18  # numbers in one chunk of a hidden layer: a MiB in float32, inside the cache of a core

Keys = Float[Tensor, "b k d"]


class LookByHand(ABC):
    """Looks taken one after another, softmax over scores, and their gradients when the loop is run back."""

    def __init__(self, visible: Tensor | None, keys: Keys, values: Float[Tensor, "b k v"], steps: int) -> None:
        self.keys, self.values, self.visible = keys.contiguous(), values.contiguous(), visible
        batch, count, width = values.shape
        self.hide = None if visible is None else (~visible).to(values.dtype) * torch.finfo(values.dtype).min
        self.weights = values.new_empty(steps, batch, count)
        self.contexts = values.new_empty(steps, batch, width)

    def forward(self, t: int, query: Rows) -> Rows:
        """What the query sees at step `t`."""
        scores, weights = self.score(t, query), self.weights[t]
        if self.hide is not None:
            scores += self.hide
        torch.softmax(scores, -1, out=weights)
        if self.visible is not None:
            weights *= self.visible
        torch.bmm(weights.unsqueeze(1), self.values, out=self.contexts[t].unsqueeze(1))
        return self.contexts[t]

    def begin(self) -> None:
        """Make room for gradients."""
        self.to_contexts = torch.empty_like(self.contexts)

    def backward(self, t: int, grad: Rows) -> Rows:
        """The gradient of the query at step `t`, from that of what it saw."""
        self.to_contexts[t] = grad
        to_weights = torch.bmm(grad.unsqueeze(1), self.values.transpose(1, 2)).squeeze(1)
        weights = self.weights[t]
        to_weights -= (to_weights * weights).sum(-1, keepdim=True)
        return self.unscore(t, to_weights.mul_(weights))

    def to_values(self) -> Tensor:
        """The gradient of the values, all steps in one product per row."""
        return torch.bmm(self.weights.permute(1, 2, 0), self.to_contexts.transpose(0, 1))

    @abstractmethod
    def score(self, t: int, query: Rows) -> Float[Tensor, "b k"]:
        """The score of each key."""

    @abstractmethod
    def unscore(self, t: int, grad: Float[Tensor, "b k"]) -> Rows:
        """The gradient of the query, from that of the scores."""

    @abstractmethod
    def to_keys(self) -> Tensor:
        """The gradient of the keys."""

    def to_learned(self, queries: Steps) -> tuple[Tensor, ...]:
        """The gradients of what else is learned."""
        return ()


class DotByHand(LookByHand):
    """Scores q·k times a fixed factor."""

    def __init__(
        self,
        scale: float,
        visible: Tensor | None,
        keys: Keys,
        values: Float[Tensor, "b k v"],
        steps: int,
        precision: torch.dtype,
    ) -> None:
        super().__init__(visible, keys, values, steps)
        self.scale = scale
        self.queries = self.keys.new_empty(len(self.weights), self.keys.shape[0], self.keys.shape[2])

    def score(self, t: int, query: Rows) -> Float[Tensor, "b k"]:
        torch.mul(query, self.scale, out=self.queries[t])
        return torch.bmm(self.queries[t].unsqueeze(1), self.keys.transpose(1, 2)).squeeze(1)

    def begin(self) -> None:
        super().begin()
        self.to_scores = torch.empty_like(self.weights)

    def unscore(self, t: int, grad: Float[Tensor, "b k"]) -> Rows:
        self.to_scores[t] = grad
        return torch.bmm(grad.unsqueeze(1), self.keys).squeeze(1).mul_(self.scale)

    def to_keys(self) -> Tensor:
        return torch.bmm(self.to_scores.permute(1, 2, 0), self.queries.transpose(0, 1))


class TanhByHand(LookByHand):
    """Scores v·tanh(a + k), a = W q + c; the hidden layer is made again in the backward pass, and never kept.

    tanh x = 1 - 2 r with r = 1 / (1 + e^2x), and e^2(a + k) is a product of two powers, each made once: what is left
    for every pair is a multiplication and a division. A summand beyond ±20 counts as ±20, so that no power overflows;
    tanh is 1 long before, and only two such summands that cancel each other would tell the difference.
    """

    def __init__(
        self,
        visible: Tensor | None,
        keys: Keys,
        values: Float[Tensor, "b k v"],
        steps: int,
        precision: torch.dtype,
        weight: Tensor,
        bias: Tensor,
        strength: Tensor,
    ) -> None:
        super().__init__(visible, keys, values, steps)
        self.weight, self.strength = weight.to(precision), strength
        batch, count, width = self.keys.shape
        self.asked = bias.expand(len(self.weights), batch, -1).clone()  # a, then its power
        self.powers, self.one = _power(self.keys), strength.new_ones(())
        self.chunk = max(1, ROOM // (count * width))
        self.room = self.keys.new_empty(min(batch, self.chunk), count, width)

    def score(self, t: int, query: Rows) -> Float[Tensor, "b k"]:
        asked, scores = add_product(self.asked[t], query, self.weight.t()), self.keys.new_empty(self.keys.shape[:2])
        asked.copy_(_power(asked))
        for first in range(0, len(asked), self.chunk):
            rows = slice(first, first + self.chunk)
            torch.mv(self._rests(asked, rows).flatten(0, 1), self.strength, out=scores[rows].view(-1))
        return scores.mul_(-2).add_(self.strength.sum())

    def _rests(self, asked: Rows, rows: slice) -> Tensor:
        """r for some rows: half of what tanh lacks of 1."""
        powers = self.powers[rows]
        return torch.addcmul(self.one, powers, asked[rows].unsqueeze(1), out=self.room[: len(powers)]).reciprocal_()

    def begin(self) -> None:
        super().begin()
        self.to_asked, self.to_key = torch.empty_like(self.asked), torch.zeros_like(self.keys)
        self.to_strength, self.slope = torch.zeros_like(self.strength), 4 * self.strength  # tanh' = 4 (r - r²)
        self.through = (self.slope.unsqueeze(1) * self.weight).to(self.weight.dtype)

    def unscore(self, t: int, grad: Float[Tensor, "b k"]) -> Rows:
        asked, to_asked = self.asked[t], self.to_asked[t]
        self.to_strength += grad.sum()
        for first in range(0, len(asked), self.chunk):
            rows = slice(first, first + self.chunk)
            rests, arriving = self._rests(asked, rows), grad[rows]
            self.to_strength.addmv_(rests.flatten(0, 1).t(), arriving.reshape(-1), alpha=-2)
            torch.addcmul(rests, rests, rests, value=-1, out=rests)  # without `slope` until the end
            torch.bmm(arriving.unsqueeze(1), rests, out=to_asked[rows].unsqueeze(1))
            self.to_key[rows].addcmul_(rests, arriving.unsqueeze(2))
        return product(to_asked.unsqueeze(0), self.through).squeeze(0)

    def to_keys(self) -> Tensor:
        return self.to_key.mul_(self.slope)

    def to_learned(self, queries: Steps) -> tuple[Tensor, ...]:
        """The gradients of W, c and v."""
        self.to_asked *= self.slope
        return outer(self.to_asked, queries.to(self.weight.dtype)), self.to_asked.sum((0, 1)), self.to_strength


def _power(x: Tensor) -> Tensor:
    """e^2x, as far as that goes."""
    return x.clamp(-20, 20).mul_(2).exp_()
