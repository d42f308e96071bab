"""Adaptive computation time: think as long as it takes, each place for itself. Graves 2016.

After each step a place says how likely it is to stop, p_n = σ(w · h_n + b). It stops at the first step N where these
have come to 1 - ε, or at the last there is; what is left of 1 before step N is the remainder R. Its state is
Σ p_n h_n, with R for p_N, and its ponder cost N + R, of which a part τ belongs in the loss.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.models.recurrence.cells import Cell

States = Float[Tensor, "*b m"]
Step = Callable[[States, int], States]
"""One more step of thought: the states before it and its number, counted from 0, to the states after it."""


@dataclass(frozen=True)
class Pondered:
    """What came of it, and how long each place thought."""

    states: States
    shares: Float[Tensor, "*b n"]
    """How much of the answer is from each step; they sum to 1."""
    steps: Float[Tensor, "*b"]
    """N: steps that were taken. No gradient."""
    remainder: Float[Tensor, "*b"]
    """R: the share of the last one. Through it a cost is learned from."""

    @property
    def cost(self) -> Float[Tensor, "*b"]:
        """N + R."""
        return self.steps + self.remainder


class Pace(nn.Module, ABC):
    """Who decides how many steps of thought there are."""

    @abstractmethod
    def forward(self, states: States, step: Step) -> Pondered:
        """Think, step by step, from these states on."""


class Steps(Pace):
    """Always as many, for every place."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def forward(self, states: States, step: Step) -> Pondered:
        return _all(states, step, self.count)


class StepsPerPlace(Pace):
    """As many as there are places, so that news can go from one end to the other, neighbour by neighbour."""

    def forward(self, states: Float[Tensor, "b n m"], step: Step) -> Pondered:
        return _all(states, step, states.shape[1])


def _all(states: States, step: Step, count: int) -> Pondered:
    """So many steps for every place, and the last one is the answer."""
    for number in range(count):
        states = step(states, number)
    each = states.new_ones(states.shape[:-1])
    shares = torch.eye(count, device=states.device)[-1].expand(*each.shape, -1)
    return Pondered(states, shares, count * each, each)


class Halting(Pace):
    """Each place stops when it has thought enough; its state then stays as it is, for others to look at.

    `slack` is ε: without it nobody could stop after one step. The bias starts at `eager`, so that a fresh model
    thinks little.
    """

    def __init__(self, width: int, most: int, slack: float = 0.01, eager: float = 1.0) -> None:
        super().__init__()
        self.most, self.slack = most, slack
        self.chance = nn.Linear(width, 1)
        nn.init.constant_(self.chance.bias, eager)

    def forward(self, states: States, step: Step) -> Pondered:
        thinks = states.new_ones(states.shape[:-1], dtype=torch.bool)
        spent, steps, remainder = (states.new_zeros(states.shape[:-1]) for _ in range(3))
        mixed, shares = torch.zeros_like(states), []
        for number in range(self.most):
            states = torch.where(thinks.unsqueeze(-1), step(states, number), states)
            chance = self.chance(states).squeeze(-1).sigmoid()
            stops = spent + chance >= 1 - self.slack if number < self.most - 1 else torch.ones_like(thinks)
            share = torch.where(stops, 1 - spent, chance) * thinks
            mixed = mixed + share.unsqueeze(-1) * states
            shares.append(share)
            spent, steps = spent + share, steps + thinks
            remainder = remainder + share * stops
            thinks = thinks & ~stops
            if not bool(thinks.any()):
                break
        return Pondered(mixed, torch.stack(shares, -1), steps, remainder)


class PonderingCell(nn.Module):
    """A recurrent cell that may take several steps for one input; a mark tells the first of them. Graves 2016, 2.

    The cell reads the input with one more number, 1 at the first step and 0 at those after it, and goes on to the
    next input from the mixed state.
    """

    def __init__(self, cell: Cell, pace: Pace) -> None:
        super().__init__()
        self.cell, self.pace = cell, pace

    def forward(self, x: Float[Tensor, "b n d"], first: Float[Tensor, "b s"] | None = None) -> Pondered:
        """Along a row of inputs: mixed states and costs at every place."""
        state = x.new_zeros(len(x), self.cell.size) if first is None else first
        marks = x.new_zeros(2, len(x), 1)
        marks[0] = 1
        found = []
        for place in x.unbind(1):
            given = [self.cell.input(torch.cat((place, mark), -1)) for mark in marks]
            one = self.pace(state, lambda before, number, given=given: self.cell.turn(given[min(number, 1)], before))
            found.append(one)
            state = one.states
        longest = max(one.shares.shape[-1] for one in found)
        shares = [nn.functional.pad(one.shares, (0, longest - one.shares.shape[-1])) for one in found]
        return Pondered(
            torch.stack([one.states for one in found], 1),
            torch.stack(shares, 1),
            torch.stack([one.steps for one in found], 1),
            torch.stack([one.remainder for one in found], 1),
        )
