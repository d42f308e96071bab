"""From scores to a selection: how much of each key in scope is read.

Every selection gives exactly 0 outside scope, and all zeros to a query that may see nothing. `log_prob` is the
log-probability of having chosen so: 0.0 where nothing was left to chance, so that a REINFORCE term can stand in
every loss and vanish there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attend.score import Past, Queries, Scores

Allowed = Bool[Tensor, "#b #h #q #k"]


class Selection(NamedTuple):
    """Weights `b h q k` and the log-probability `b h q` of the choice (0.0 = certain)."""

    weights: Tensor
    log_prob: Tensor | float


class Select(nn.Module, ABC):
    """Turns scores within scope into weights; `allowed` is None where everything may be seen."""

    @abstractmethod
    def forward(self, scores: Scores, allowed: Allowed | None, query: Queries, past: Past | None = None) -> Selection:
        """The weights, and how likely they were."""


class Softmax(Select):
    """exp(score) / Σ exp(score)."""

    def forward(self, scores: Scores, allowed: Allowed | None, query: Queries, past: Past | None = None) -> Selection:
        return Selection(masked_softmax(scores, allowed), 0.0)


class Sparsemax(Select):
    """The nearest point of the simplex: small scores get exactly 0. Martins & Astudillo 2016, algorithm 1."""

    def forward(self, scores: Scores, allowed: Allowed | None, query: Queries, past: Past | None = None) -> Selection:
        # A score one below the best has no weight, so everything lower may stand at -2: no infinities to sum.
        best = _hidden(scores, allowed).amax(-1, keepdim=True)
        z = (_hidden(scores, allowed) - best).clamp_min(-2.0)
        ordered, _ = z.sort(-1, descending=True)
        rank = torch.arange(1, z.shape[-1] + 1, device=z.device, dtype=z.dtype)
        total = ordered.cumsum(-1)
        support = (1 + rank * ordered > total).sum(-1, keepdim=True)
        threshold = (total.gather(-1, support - 1) - 1) / support
        return Selection(_zero_outside((z - threshold).clamp_min(0.0), allowed), 0.0)


class TopK(Select):
    """Softmax over the `count` best keys in scope; of equal ones the earlier. Gupta et al. 2021."""

    def __init__(self, count: int) -> None:
        super().__init__()
        if count < 1:
            raise ValueError(f"TopK wants count >= 1; got {count}")
        self.count = count

    def forward(self, scores: Scores, allowed: Allowed | None, query: Queries, past: Past | None = None) -> Selection:
        best = _hidden(scores, allowed).sort(dim=-1, descending=True, stable=True).indices[..., : self.count]
        kept = torch.zeros_like(scores, dtype=torch.bool).scatter(-1, best, True)
        return Selection(masked_softmax(scores, kept if allowed is None else kept & allowed), 0.0)


class Hard(Select):
    """One key, drawn by its probability while training and the likeliest one afterwards. Xu et al. 2015, 4.1.

    No gradient reaches the scores through the weights: train with `log_prob`, by REINFORCE.
    """

    def forward(self, scores: Scores, allowed: Allowed | None, query: Queries, past: Past | None = None) -> Selection:
        if not self.training:
            return Selection(_likeliest(scores, allowed), 0.0)
        chances = masked_softmax(scores, allowed)
        blind = chances.sum(-1, keepdim=True) == 0
        flat = chances.detach().masked_fill(blind, 1.0).flatten(0, -2)
        drawn = torch.multinomial(flat, 1).view(*chances.shape[:-1], 1)
        weights = torch.zeros_like(chances).scatter(-1, drawn, 1.0).masked_fill(blind, 0.0)
        log_prob = chances.gather(-1, drawn).masked_fill(blind, 1.0).log().squeeze(-1)
        return Selection(weights, log_prob)


class Gumbel(Select):
    """Softmax of noisy scores: close to a draw when cold, yet with a gradient. Jang, Gu & Poole 2017, eq. 2.

    After training the noise is left out.
    """

    def __init__(self, temperature: float = 1.0) -> None:
        super().__init__()
        self.temperature = _warm(temperature)

    def forward(self, scores: Scores, allowed: Allowed | None, query: Queries, past: Past | None = None) -> Selection:
        noisy = _with_noise(scores) if self.training else scores
        return Selection(masked_softmax(noisy / self.temperature, allowed), 0.0)


class StraightThrough(Select):
    """One key, as `Hard`, with the gradient of `Gumbel`'s soft choice. Jang, Gu & Poole 2017, 2.2."""

    def __init__(self, temperature: float = 1.0) -> None:
        super().__init__()
        self.temperature = _warm(temperature)

    def forward(self, scores: Scores, allowed: Allowed | None, query: Queries, past: Past | None = None) -> Selection:
        noisy = _with_noise(scores) if self.training else scores
        soft = masked_softmax(noisy / self.temperature, allowed)
        return Selection(_likeliest(noisy, allowed) + (soft - soft.detach()), 0.0)


class LocalP(Select):
    """Softmax in a window around a place the query predicts, under a Gaussian. Luong et al. 2015, eq. 9-10.

    p = S·sigmoid(v·tanh(W q)), S the number of keys in scope; keys with |i - p| <= reach are read, their softmax
    times exp(-(i - p)² / (2 (reach/2)²)). As in the paper the product is not normalised again, so a row sums to
    less than 1, and the gradient reaches p through the Gaussian only. `i` counts from the first key.
    """

    def __init__(self, d_query: int, reach: int = 10, d_hidden: int | None = None) -> None:
        super().__init__()
        if reach < 1:
            raise ValueError(f"LocalP wants reach >= 1; got {reach}: the Gaussian's width is half of it")
        self.reach = reach
        self.hidden = nn.Linear(d_query, d_hidden or d_query, bias=False)
        self.place = nn.Linear(d_hidden or d_query, 1, bias=False)

    def centre(self, query: Queries, count: Tensor | int) -> Float[Tensor, "b h q 1"]:
        """The place each query wants to look at, among `count` keys."""
        return count * self.place(self.hidden(query).tanh()).sigmoid()  # type: ignore[no-any-return]

    def forward(self, scores: Scores, allowed: Allowed | None, query: Queries, past: Past | None = None) -> Selection:
        size = scores.shape[-1]
        count = size if allowed is None else allowed.expand(*allowed.shape[:-1], size).sum(-1, keepdim=True)
        away = torch.arange(size, device=scores.device) - self.centre(query, count)
        near = away.abs() <= self.reach
        weights = masked_softmax(scores, near if allowed is None else near & allowed)
        return Selection(weights * torch.exp(-(away**2) / (2 * (self.reach / 2) ** 2)), 0.0)


class Competition(Select):
    """Queries compete for keys: softmax over queries, then each query's mean. Locatello et al. 2020, algorithm 1.

    An exception to two laws: a query's weights depend on the other queries, so queries cannot be asked one by
    one, and a later query can change an earlier answer.
    """

    def forward(self, scores: Scores, allowed: Allowed | None, query: Queries, past: Past | None = None) -> Selection:
        table = None if allowed is None else allowed.expand_as(scores).transpose(-2, -1)
        share = masked_softmax(scores.transpose(-2, -1), table).transpose(-2, -1)
        return Selection(share / (share.sum(-1, keepdim=True) + 1e-8), 0.0)


def masked_softmax(scores: Scores, allowed: Allowed | None) -> Scores:
    """Softmax within scope: the one place where scores are hidden."""
    if allowed is None:
        return scores.softmax(-1)
    return _zero_outside(_hidden(scores, allowed).softmax(-1), allowed)


def softmax_in_place(scores: Scores, allowed: Allowed | None) -> Scores:
    """The same, in the place of scores that nobody else needs."""
    if allowed is None:
        return torch.softmax(scores, -1, out=scores)
    scores += (~allowed).to(scores.dtype) * torch.finfo(scores.dtype).min
    return torch.softmax(scores, -1, out=scores).mul_(allowed)


def _hidden(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """Scores with the least finite number outside scope: an infinity would turn blind rows into NaN.

    It is added, and swallows any finite score: on a CPU adding is several times faster than filling by a mask. A
    NaN stays one; in padding, a memory has replaced it.
    """
    if allowed is None:
        return scores
    return scores + (~allowed).to(scores.dtype) * torch.finfo(scores.dtype).min


def _zero_outside(weights: Tensor, allowed: Tensor | None) -> Tensor:
    return weights if allowed is None else weights * allowed


def _likeliest(scores: Tensor, allowed: Tensor | None) -> Tensor:
    best = _hidden(scores, allowed).argmax(-1, keepdim=True)
    return _zero_outside(torch.zeros_like(scores).scatter(-1, best, 1.0), allowed)


def _with_noise(scores: Tensor) -> Tensor:
    return scores - torch.empty_like(scores).exponential_().log()


def _warm(temperature: float) -> float:
    if temperature <= 0:
        raise ValueError(f"a temperature is > 0; got {temperature}: use Hard() for a choice without one")
    return temperature
