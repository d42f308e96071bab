"""Machine reading: an LSTM that looks back at every state it had, and language models made of it. Cheng et al. 2016.

a_i = v · tanh(W_h h_i + W_x x_t + W_s h̃_{t-1}), s = softmax(a), [h̃_t; c̃_t] = Σ s_i [h_i; c_i]; then an LSTM's step
from h̃_t and c̃_t instead of h_{t-1} and c_{t-1}. The tape that is looked at holds the steps before this one.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attend.bias import Relative
from regard.attend.mechanism import Attention
from regard.attend.memory import Memory
from regard.attend.papers.recurrent import cheng
from regard.models.blocks import embedding, output
from regard.models.convolution import Dilated
from regard.models.dropout import Dropout
from regard.models.recurrence.along import along
from regard.models.recurrence.cells import Lstm
from regard.models.sequence_settings import DilatedModel, LstmnModel, ReaderModel


class Lstmn(nn.Module):
    """An LSTM cell and a tape of all its states, at which every step looks."""

    def __init__(self, attention: Attention, cell: Lstm) -> None:
        super().__init__()
        self.attention, self.cell = attention, cell

    def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t w"]:
        """What the cell shows at each step; at the first there is nothing to look back at, which reads zeros."""
        seen, tape = x.new_zeros(len(x), self.cell.size), None
        shown = []
        for at, (word, given) in enumerate(zip(x.unbind(1), self.cell.input(x).unbind(1), strict=True)):
            if tape is not None:
                query = torch.cat((word, self.cell.shown(seen)), -1)
                seen = self.attention(query.unsqueeze(1), tape, at).squeeze(1)
            state = self.cell.turn(given, seen)
            shown.append(self.cell.shown(state))
            tape = self._written(tape, state, at)
        return torch.stack(shown, 1)

    def _written(self, tape: Memory | None, state: Float[Tensor, "b s"], at: int) -> Memory:
        """The tape with this state at its end: looked up by what it shows, read whole."""
        new = self.attention.memory(self.cell.shown(state).unsqueeze(1), state.unsqueeze(1), start=at)
        return new if tape is None else tape.then(new)


class Recurrent(nn.Module):
    """A plain LSTM: the last state is all there is."""

    def __init__(self, cell: Lstm) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t w"]:
        """What the cell shows at each step."""
        return along(self.cell, x)[0]


class LanguageModel(nn.Module):
    """What comes next, from what came before: embeddings, layers that read forwards, and the same embeddings."""

    def __init__(self, readers: Sequence[nn.Module], words: int, width: int, dropout: float) -> None:
        super().__init__()
        self.words = embedding(words, width)
        self.readers = nn.ModuleList(readers)
        self.output = output(self.words, words, width)
        self.bias = nn.Parameter(torch.zeros(words))
        self.dropout = Dropout(dropout)

    def forward(self, words: Int[Tensor, "b t"]) -> Float[Tensor, "b t v"]:
        """Scores of every next word."""
        x = self.dropout(self.words(words) * self.words.embedding_dim**0.5)
        for reader in self.readers:
            x = reader(x)
        return self.output(self.dropout(x)) + self.bias  # type: ignore[no-any-return]


def intra_attention(settings: LstmnModel) -> Attention:
    """The paper's mechanism; with a reach, it knows how far back a state is."""
    found = cheng(2 * settings.width, settings.width, settings.hidden)
    if settings.reach:
        found.bias = nearest_first(settings.reach)
    return found


def nearest_first(reach: int) -> Relative:
    """A learned number per distance, at first -3 ln distance: the last state counts most, as in a plain LSTM."""
    bias = Relative(1, reach)
    with torch.no_grad():
        bias.table[0, :reach] = -3 * torch.arange(reach, 0, -1).log()
    return bias


def build_reader(settings: ReaderModel, words: int) -> LanguageModel:
    """The model a recipe describes."""
    width = settings.width
    match settings:
        case LstmnModel():
            layers: list[nn.Module] = [
                Lstmn(intra_attention(settings), Lstm(width, width)) for _ in range(settings.layers)
            ]
        case DilatedModel():
            layers = [Dilated(width, settings.kernel, settings.dilations)]
        case _:
            layers = [Recurrent(Lstm(width, width)) for _ in range(settings.layers)]
    return LanguageModel(layers, words, width, settings.dropout)
