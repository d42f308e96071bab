"""Depth, in three ways: layers of their own, one layer again and again, or until each place has thought enough.

The Universal Transformer (Dehghani et al. 2019) is the second, and with adaptive computation time the third. Before
every step each place is told where it is and which step this is:
A_t = LayerNorm(x + Attention(x)) with x = H_{t-1} + P_t, and H_t = LayerNorm(A_t + Transition(A_t)).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attend.maps import Linear
from regard.attend.scope import Scope, everything
from regard.models.blocks import Rows
from regard.models.pondering import Pace, Pondered, PonderingCell, Steps
from regard.models.transformer import EncoderLayer


class Depth(nn.Module, ABC):
    """Rows of embedded items to rows of states; the first item is at place `at`."""

    @abstractmethod
    def forward(self, x: Rows, scope: Scope = everything, at: int = 0) -> Pondered:
        """States of every place, and how long each was thought about."""


class Stack(Depth):
    """Layers one after the other, each with weights of its own: the encoder of Vaswani et al. 2017."""

    def __init__(self, layers: Iterable[EncoderLayer], places: nn.Module, norm: nn.Module) -> None:
        super().__init__()
        self.layers, self.places, self.norm = nn.ModuleList(layers), places, norm
        self.pace = Steps(len(self.layers))

    def forward(self, x: Rows, scope: Scope = everything, at: int = 0) -> Pondered:
        x = x + self.places(x.shape[1], at)
        found = self.pace(x, lambda states, number: self.layers[number](states, scope))
        return Pondered(self.norm(found.states), found.shares, found.steps, found.remainder)


class Universal(Depth):
    """One layer again and again, as often as `pace` says: always as often, or as each place needs."""

    def __init__(self, layer: EncoderLayer, pace: Pace, places: nn.Module, times: nn.Module, norm: nn.Module) -> None:
        super().__init__()
        self.layer, self.pace, self.places, self.times, self.norm = layer, pace, places, times, norm

    def forward(self, x: Rows, scope: Scope = everything, at: int = 0) -> Pondered:
        where = self.places(x.shape[1], at)

        def step(states: Rows, number: int) -> Rows:
            return self.layer(states + where + self.times(1, number), scope)  # type: ignore[no-any-return]

        found = self.pace(x, step)
        return Pondered(self.norm(found.states), found.shares, found.steps, found.remainder)


class Recurrent(Depth):
    """A cell that reads item after item, and ponders each."""

    def __init__(self, cell: PonderingCell) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: Rows, scope: Scope = everything, at: int = 0) -> Pondered:
        found: Pondered = self.cell(x)
        shown = self.cell.cell.shown(found.states)
        return Pondered(shown, found.shares, found.steps, found.remainder)


class SeparableConvolution(nn.Module):
    """A transition that sees neighbours too: each number along places, then all numbers of a place. Chollet 2017.

    It looks at neighbours whoever they are, so rows in a batch are of one length: padding would be seen.
    """

    def __init__(self, width: int, inner: int, reach: int = 1) -> None:
        super().__init__()
        self.along = nn.Conv1d(width, width, 2 * reach + 1, padding=reach, groups=width)
        self.up, self.down = Linear(width, inner), Linear(inner, width)

    def forward(self, x: Rows) -> Rows:
        """Each place with its neighbours."""
        near: Float[Tensor, "b n m"] = self.along(x.transpose(1, 2)).transpose(1, 2)
        return self.down(F.relu(self.up(near)))  # type: ignore[no-any-return]
