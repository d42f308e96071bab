"""Recurrent cells, one step of each: what is read now, and what is remembered."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor, nn

Given = Float[Tensor, "b _"]
CellState = Float[Tensor, "b _"]


class Cell(nn.Module, ABC):
    """One step of a recurrent network.

    A state is one tensor: first what the cell shows, `width` numbers, then what it keeps to itself. `input` and
    `hidden` hold the maps of all gates, in torch's order, so weights can be copied from and to `nn.LSTM` and
    `nn.GRU`. What depends on the input alone is `given`, so that it can be had for all steps at once.
    """

    gates: int
    """Maps of `width` rows in each weight."""
    parts: int = 1
    """Vectors of `width` numbers in a state."""

    def __init__(self, d_input: int, width: int) -> None:
        super().__init__()
        self.width, self.size = width, self.parts * width
        self.input = nn.Linear(d_input, self.gates * width)
        self.hidden = nn.Linear(width, self.gates * width)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(width**-0.5), width**-0.5)

    def shown(self, state: Float[Tensor, "*b n"]) -> Float[Tensor, "*b w"]:
        """What others see of a state."""
        return state[..., : self.width]

    def forward(self, x: Float[Tensor, "b d"], before: CellState) -> CellState:
        return self.turn(self.input(x), before)

    @abstractmethod
    def turn(self, given: Given, before: CellState) -> CellState:
        """The state after this input, of which `given` is `self.input(x)`."""


class Rnn(Cell):
    """h' = tanh(W x + U h). Elman 1990."""

    gates = 1

    def turn(self, given: Given, before: CellState) -> CellState:
        state: Tensor = (given + self.hidden(before)).tanh()
        return state


class Gru(Cell):
    """Gates decide how much of the state is kept. Cho et al. 2014, in torch's form: reset after the product."""

    gates = 3

    def turn(self, given: Given, before: CellState) -> CellState:
        (reset, keep, new), (reset_too, keep_too, new_too) = given.chunk(3, -1), self.hidden(before).chunk(3, -1)
        fresh = (new + (reset + reset_too).sigmoid() * new_too).tanh()
        state: Tensor = fresh + (keep + keep_too).sigmoid() * (before - fresh)
        return state


class Lstm(Cell):
    """A memory beside the state, with gates to write, forget and show. Hochreiter & Schmidhuber 1997."""

    gates = 4
    parts = 2

    def __init__(self, d_input: int, width: int) -> None:
        super().__init__(d_input, width)
        with torch.no_grad():  # remember, until there is a reason not to
            self.input.bias[width : 2 * width] += 1.0

    def turn(self, given: Given, before: CellState) -> CellState:
        shown, kept = before.chunk(2, -1)
        write, keep, new, show = (given + self.hidden(shown)).chunk(4, -1)
        kept = keep.sigmoid() * kept + write.sigmoid() * new.tanh()
        return torch.cat((show.sigmoid() * kept.tanh(), kept), -1)


CELLS: dict[str, type[Cell]] = {"lstm": Lstm, "gru": Gru, "rnn": Rnn}
