"""How a Neural Turing Machine finds its place on the tape. Graves, Wayne & Danihelka 2014, 3.3."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attend.score import Past, Queries, Scores
from regard.attend.select import Allowed, Select, Selection, masked_softmax

Weighting = Float[Tensor, "b h k"]


class Shift(nn.Module, ABC):
    """How far the head moves: offsets along the tape and how much goes to each."""

    @abstractmethod
    def forward(self, query: Float[Tensor, "b h d"]) -> tuple[Int[Tensor, "b h s"], Float[Tensor, "b h s"]]:
        """Offsets, and shares that sum to 1."""


class ShiftChoice(Shift):
    """Softmax over the allowed shifts, `-reach ... reach`."""

    def __init__(self, d_query: int, reach: int = 1) -> None:
        super().__init__()
        self.reach = reach
        self.choose = nn.Linear(d_query, 2 * reach + 1)

    def forward(self, query: Float[Tensor, "b h d"]) -> tuple[Int[Tensor, "b h s"], Float[Tensor, "b h s"]]:
        shares = self.shares(query)
        offsets = torch.arange(-self.reach, self.reach + 1, device=query.device)
        return offsets.expand_as(shares), shares

    def shares(self, query: Float[Tensor, "b h d"]) -> Float[Tensor, "b h s"]:
        """How much goes to each shift, from the furthest back on."""
        return self.choose(query).softmax(-1)  # type: ignore[no-any-return]


class ShiftBy(Shift):
    """One number says how far: 6.7 puts 0.3 on a shift of 6 and 0.7 on a shift of 7."""

    def __init__(self, d_query: int) -> None:
        super().__init__()
        self.distance = nn.Linear(d_query, 1)

    def forward(self, query: Float[Tensor, "b h d"]) -> tuple[Int[Tensor, "b h s"], Float[Tensor, "b h s"]]:
        return split_shift(self.distance(query).squeeze(-1))


class Turing(Select):
    """Content, then interpolate with the previous *final* weighting, shift along the tape, sharpen.

    β, gate, shift and γ are read off the query, the controller's output. Queries are consecutive steps: each
    starts from the weighting of the one before, the first from the last row of `past`, or from the first key.
    The tape is the keys in scope, joined end to end.
    """

    def __init__(self, d_query: int, shift: Shift | None = None) -> None:
        super().__init__()
        self.strength = nn.Linear(d_query, 1)
        self.gate = nn.Linear(d_query, 1)
        self.sharpness = nn.Linear(d_query, 1)
        self.shift = shift or ShiftChoice(d_query)

    def forward(self, scores: Scores, allowed: Allowed | None, query: Queries, past: Past | None = None) -> Selection:
        content = masked_softmax(F.softplus(self.strength(query)) * scores, allowed)
        gate, gamma = self.gate(query).sigmoid(), 1 + F.softplus(self.sharpness(query))
        open_to = scores.new_ones((1, 1, 1, 1), dtype=torch.bool) if allowed is None else allowed
        open_to = open_to.expand_as(scores)
        steps: list[Tensor] = []
        for t in range(scores.shape[2]):
            if steps:
                before = steps[-1]
            elif past is not None and past.shape[2]:
                before = past[:, :, -1]
            else:
                before = first_place(open_to[:, :, t]).to(content.dtype)
            mixed, asked = interpolate(content[:, :, t], before, gate[:, :, t]), query[:, :, t]
            if allowed is None and isinstance(self.shift, ShiftChoice) and 1 <= self.shift.reach <= scores.shape[3]:
                walked = slide(mixed, self.shift.shares(asked))
            else:
                walked = rotate(mixed, open_to[:, :, t], *self.shift(asked))
            steps.append(sharpen(walked, gamma[:, :, t]))
        return Selection(torch.stack(steps, 2), 0.0)


def interpolate(content: Weighting, before: Weighting, gate: Float[Tensor, "b h 1"]) -> Weighting:
    """g·content + (1 - g)·before, eq. 7: `before` is the last step's final weighting, which lets the head walk."""
    return gate * content + (1 - gate) * before


def rotate(
    weights: Weighting, tape: Bool[Tensor, "b h k"], offsets: Int[Tensor, "b h s"], shares: Float[Tensor, "b h s"]
) -> Weighting:
    """Circular convolution along the tape, eq. 8: place i gets what stood `offset` places before it."""
    order = (~tape).int().argsort(dim=-1, stable=True)  # keys in scope first, in their order
    rank = tape.cumsum(-1) - 1
    size = tape.sum(-1, keepdim=True).clamp_min(1)
    source = (rank.unsqueeze(-1) - offsets.unsqueeze(-2)) % size.unsqueeze(-1)  # b h k s
    came_from = order.unsqueeze(-1).expand_as(source).gather(2, source)
    moved = weights.unsqueeze(-1).expand(source.shape).gather(2, came_from)
    return (moved * shares.unsqueeze(-2)).sum(-1).masked_fill(~tape, 0.0)


def slide(weights: Weighting, shares: Float[Tensor, "b h s"]) -> Weighting:
    """The same for a tape without gaps and the shifts `-reach ... reach`: a window slid along the tape."""
    reach = shares.shape[-1] // 2
    ends_joined = torch.cat((weights[..., -reach:], weights, weights[..., :reach]), -1)
    return (ends_joined.unfold(-1, shares.shape[-1], 1) @ shares.flip(-1).unsqueeze(-1)).squeeze(-1)


def sharpen(weights: Weighting, gamma: Float[Tensor, "b h 1"]) -> Weighting:
    """w^γ / Σ w^γ, eq. 9; γ = 1 changes nothing. A blind query stays at zeros, with a finite gradient."""
    tiny = torch.finfo(weights.dtype).tiny
    relative = weights / weights.detach().amax(-1, keepdim=True).clamp_min(tiny)  # a power of it cannot vanish
    powers = torch.where(weights > 0, relative.clamp_min(tiny) ** gamma, 0.0)
    return powers / powers.sum(-1, keepdim=True).clamp_min(tiny)


def split_shift(distance: Float[Tensor, "b h"]) -> tuple[Int[Tensor, "b h 2"], Float[Tensor, "b h 2"]]:
    """The scalar form of a shift: between the two whole numbers around `distance`."""
    whole = distance.floor()
    part = distance - whole.detach()
    offsets = torch.stack((whole, whole + 1), -1).long()
    return offsets, torch.stack((1 - part, part), -1)


def first_place(tape: Bool[Tensor, "b h k"]) -> Bool[Tensor, "b h k"]:
    """All attention on the first key in scope: where a head starts."""
    return tape & (tape.cumsum(-1) == 1)
