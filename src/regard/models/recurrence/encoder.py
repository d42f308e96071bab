"""Reading a source with recurrent cells: forwards, from its end, or both ways; padding changes nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.models.dropout import Dropout
from regard.models.recurrence.along import Sequences, along
from regard.models.recurrence.cells import Cell
from regard.models.seq2seq import Ids, Lengths


@dataclass(frozen=True)
class Encoded:
    """The source as read: a state per word of the top layer, and the last state of each layer."""

    states: Float[Tensor, "b n e"]
    last: tuple[Float[Tensor, "b _"], ...]
    lengths: Lengths


class Reader(nn.Module, ABC):
    """One layer that reads a sequence; what it shows stays in the order of the words."""

    width: int
    """Numbers shown per word."""
    size: int
    """Numbers in its last state."""

    @abstractmethod
    def forward(self, x: Sequences, lengths: Lengths) -> tuple[Sequences, Float[Tensor, "b l"]]:
        """What is shown at each word, and the state after the last."""


class Forwards(Reader):
    """From the first word to the last. Padding stands after the last word, so no word's state has seen it."""

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell, self.width, self.size = cell, cell.width, cell.size

    def forward(self, x: Sequences, lengths: Lengths) -> tuple[Sequences, Float[Tensor, "b l"]]:
        shown, whole = along(self.cell, x)
        return shown, at_last(whole, lengths)


class Backwards(Reader):
    """From the last word to the first: short ways between the beginnings. Sutskever et al. 2014, 3.3."""

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell, self.width, self.size = cell, cell.width, cell.size

    def forward(self, x: Sequences, lengths: Lengths) -> tuple[Sequences, Float[Tensor, "b l"]]:
        shown, whole = along(self.cell, x, lengths=lengths)
        return shown, whole[:, 0] * (lengths > 0).unsqueeze(-1)


class BothWays(Reader):
    """Each word's state knows what stands before it and what follows. Schuster & Paliwal 1997."""

    def __init__(self, forwards: Forwards, backwards: Backwards) -> None:
        super().__init__()
        self.forwards, self.backwards = forwards, backwards
        self.width, self.size = forwards.width + backwards.width, forwards.size + backwards.size

    def forward(self, x: Sequences, lengths: Lengths) -> tuple[Sequences, Float[Tensor, "b l"]]:
        ways = (self.forwards(x, lengths), self.backwards(x, lengths))
        return torch.cat([shown for shown, _ in ways], -1), torch.cat([last for _, last in ways], -1)


class Encoder(nn.Module):
    """Words to states: an embedding and layers that read, with dropout before each."""

    def __init__(self, embedding: nn.Embedding, layers: Sequence[Reader], dropout: float = 0.0) -> None:
        super().__init__()
        self.embedding, self.layers, self.dropout = embedding, nn.ModuleList(layers), Dropout(dropout)
        self.width, self.sizes = layers[-1].width, tuple(layer.size for layer in layers)

    def forward(self, source: Ids, lengths: Lengths) -> Encoded:
        x, last = self.embedding(source), []
        for layer in self.layers:
            x, state = layer(self.dropout(x), lengths)
            last.append(state)
        return Encoded(x, tuple(last), lengths)


def at_last(whole: Float[Tensor, "b n s"], lengths: Lengths) -> Float[Tensor, "b s"]:
    """The state after each row's last word; zeros for a row without words."""
    rows = torch.arange(len(whole), device=whole.device)
    return whole[rows, (lengths - 1).clamp_min(0)] * (lengths > 0).unsqueeze(-1)
