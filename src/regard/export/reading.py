"""Recurrent encoders by torch's own layers, which ONNX has operators for: the same states, for any length."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn

from regard.models.recurrence.along import turned
from regard.models.recurrence.cells import Cell, Gru, Lstm, Rnn
from regard.models.recurrence.encoder import Backwards, BothWays, Encoded, Encoder, Forwards
from regard.models.recurrence.first import First, Learned

SHUT = 1e4  # a gate with this added is shut, or open, exactly


class Readings(nn.Module):
    """All layers, one above the other."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.layers = nn.ModuleList(_reading(layer) for layer in encoder.layers)

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """What the top layer shows at each word, and the last state of each layer."""
        last = []
        for layer in self.layers:
            x, state = layer(x, lengths)
            last.append(state)
        return x, tuple(last)


class Along(nn.Module):
    """A cell along a sequence, from its beginning or its end.

    An LSTM's memory after a row's last word is wanted, and its layer tells only that after all words, padding too. So
    each word has one more number, 1 for padding, that lets nothing in and nothing out of the memory.
    """

    def __init__(self, cell: Cell, backwards: bool) -> None:
        super().__init__()
        kinds: dict[type[Cell], Callable[..., nn.RNNBase]] = {Gru: nn.GRU, Lstm: nn.LSTM, Rnn: nn.RNN}
        self.width, self.keeps, self.backwards = cell.width, isinstance(cell, Lstm), backwards
        self.layer = kinds[type(cell)](cell.input.in_features + self.keeps, cell.width, batch_first=True)
        given = cell.input.weight.detach()
        if self.keeps:
            shut = torch.tensor([-SHUT, SHUT, 0.0, 0.0]).repeat_interleave(cell.width)
            given = torch.cat((given, shut.unsqueeze(1)), 1)
        with torch.no_grad():
            own = dict(self.layer.named_parameters())
            own["weight_ih_l0"].copy_(given)
            own["bias_ih_l0"].copy_(cell.input.bias)
            own["weight_hh_l0"].copy_(cell.hidden.weight)
            own["bias_hh_l0"].copy_(cell.hidden.bias)

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """What is shown at each word, and the state after the last."""
        x = turned(x, lengths) if self.backwards else x
        first = x.new_zeros(1, x.shape[0], self.width)
        if self.keeps:
            padding = torch.arange(x.shape[1], device=x.device) >= lengths.unsqueeze(1)
            shown, (_, memory) = self.layer(torch.cat((x, padding.unsqueeze(2).to(x.dtype)), 2), (first, first))
        else:
            shown, memory = self.layer(x, first)
        at = (lengths - 1).clamp_min(0).view(-1, 1, 1).expand(-1, 1, self.width)
        last = shown.gather(1, at).squeeze(1)
        state = torch.cat((last, memory.squeeze(0)), 1) if self.keeps else last
        return turned(shown, lengths) if self.backwards else shown, state


class Both(nn.Module):
    """Both ways, side by side."""

    def __init__(self, forwards: Along, backwards: Along) -> None:
        super().__init__()
        self.forwards, self.backwards = forwards, backwards

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """What is shown at each word, and the states after the last."""
        one, other = self.forwards(x, lengths), self.backwards(x, lengths)
        return torch.cat((one[0], other[0]), 2), torch.cat((one[1], other[1]), 1)


def _reading(layer: nn.Module) -> nn.Module:
    if isinstance(layer, BothWays):
        return Both(Along(layer.forwards.cell, backwards=False), Along(layer.backwards.cell, backwards=True))
    assert isinstance(layer, Forwards | Backwards)
    return Along(layer.cell, isinstance(layer, Backwards))


def starts(first: First, read: Encoded) -> tuple[Tensor, ...]:
    """The decoder's first states."""
    if isinstance(first, Learned):  # as many rows as there are, not as there were when this was written down
        return tuple(cast(Tensor, state).expand(read.states.shape[0], -1) for state in first.states)
    return cast("tuple[Tensor, ...]", first(read))
