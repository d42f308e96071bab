"""Where a decoder starts: from what the encoder ended with, from a mean, or from a state of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.models.recurrence.encoder import Encoded

Rows = Float[Tensor, "b _"]


class First(nn.Module, ABC):
    """Where the decoder starts: the state of each layer before the first word."""

    @abstractmethod
    def forward(self, read: Encoded) -> tuple[Rows, ...]:
        """One state per layer."""


class Handed(First):
    """The encoder's last states, layer by layer, as they are. Sutskever et al. 2014."""

    def forward(self, read: Encoded) -> tuple[Rows, ...]:
        return read.last


class FromLast(First):
    """tanh(W h) of the encoder's last states, layer by layer. Bahdanau, Cho & Bengio 2015, A.2.2."""

    def __init__(self, d_in: Sequence[int], sizes: Sequence[int]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(d, size) for d, size in zip(d_in, sizes, strict=True))

    def forward(self, read: Encoded) -> tuple[Rows, ...]:
        return tuple(layer(last).tanh() for layer, last in zip(self.layers, read.last, strict=True))


class FromMean(First):
    """tanh(W m) of the mean of the encoder's states. Xu et al. 2015."""

    def __init__(self, d_in: int, sizes: Sequence[int]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(d_in, size) for size in sizes)

    def forward(self, read: Encoded) -> tuple[Rows, ...]:
        count = read.lengths.unsqueeze(-1)
        words = torch.arange(read.states.shape[1], device=count.device) < count
        mean = read.states.masked_fill(~words.unsqueeze(-1), 0.0).sum(1) / count.clamp_min(1)
        return tuple(layer(mean).tanh() for layer in self.layers)


class Learned(First):
    """A state of its own that is learned; frozen, it stays at zeros."""

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__()
        self.states = nn.ParameterList(nn.Parameter(torch.zeros(size)) for size in sizes)

    def forward(self, read: Encoded) -> tuple[Rows, ...]:
        return tuple(state.expand(len(read.states), -1) for state in self.states)
