"""Pointer networks: what is said is always one of the inputs, however many there are. Vinyals et al. 2015.

u_ij = v · tanh(W₁ e_j + W₂ d_i) and p(C_i) = softmax_j(u_i): additive attention, whose weights are the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attend.mechanism import Attention, Mechanism
from regard.attend.memory import Memory
from regard.attend.scope import lengths as up_to
from regard.attend.score import Additive
from regard.models.recurrence.along import along
from regard.models.recurrence.cells import Lstm
from regard.models.recurrence.encoder import Forwards
from regard.models.seq2seq import Searchable, State
from regard.models.settings import PointerModel
from regard.text.ids import END

FIRST = END + 1
"""The word for the first input; END is the word for the slot that says *stop*."""

Inputs = Float[Tensor, "b n d"]
Lengths = Int[Tensor, " b"]


@dataclass(frozen=True)
class Pointing:
    """Where decoding is: what there is to point at, the cell's state, and what was pointed at already."""

    memory: Memory
    inputs: Float[Tensor, "b n+2 m"]
    """What the cell reads for each word: START, END, and the inputs."""
    cell: Float[Tensor, "b _"]
    left: Bool[Tensor, "b n"]
    """Inputs that were not pointed at yet."""

    def pick(self, rows: Int[Tensor, " b2"]) -> Pointing:
        """These rows, in this order."""
        return Pointing(self.memory.pick(rows), self.inputs[rows], self.cell[rows], self.left[rows])


class Pointer(Searchable):
    """An encoder reads the inputs, a decoder points at one after the other, and then at *stop*.

    `order` limits a search to answers that can be right: `some` of the inputs, each once, `all` of them, each once,
    or `any`. Training knows no such limit.
    """

    def __init__(self, attention: Attention, d_input: int, width: int, order: str = "any") -> None:
        super().__init__()
        self.attention, self.order = attention, order
        self.embedding = nn.Linear(d_input, width)
        self.reader, self.cell = Forwards(Lstm(width, width)), Lstm(width, width)
        self.begin, self.stop = (nn.Parameter(torch.randn(width) / width**0.5) for _ in range(2))

    def forward(self, inputs: Inputs, lengths: Lengths, before: Int[Tensor, "b t"]) -> Float[Tensor, "b t v"]:
        """Scores of every next word, given the words before it."""
        start = self.start(inputs, lengths)
        shown, _ = along(self.cell, self._read(start, before), start.cell)
        return self._pointed(shown, start.memory)

    def start(self, inputs: Inputs, lengths: Lengths) -> Pointing:
        embedded = self.embedding(inputs)
        states, last = self.reader(embedded, lengths)
        rows = len(inputs)
        stop, begin = (vector.expand(rows, 1, -1) for vector in (self.stop, self.begin))
        memory = self.attention.memory(torch.cat((stop, states), 1), scope=up_to(lengths + 1))
        left = torch.arange(inputs.shape[1], device=inputs.device) < lengths.unsqueeze(1)
        return Pointing(memory, torch.cat((begin, stop, embedded), 1), last, left)

    def step(self, state: State, words: Int[Tensor, " b"]) -> tuple[Float[Tensor, "b v"], Pointing]:
        here = cast(Pointing, state)
        cell = self.cell(self._read(here, words.unsqueeze(1)).squeeze(1), here.cell)
        scores = self._pointed(self.cell.shown(cell).unsqueeze(1), here.memory).squeeze(1)
        left = here.left.clone()
        pointed = words >= FIRST
        left[pointed.nonzero().squeeze(1), words[pointed] - FIRST] = False
        return self._allowed(scores, left), replace(here, cell=cell, left=left)

    def sights(self) -> list[Mechanism]:
        return [self.attention]

    def _read(self, here: Pointing, words: Int[Tensor, "b t"]) -> Float[Tensor, "b t m"]:
        """The vector of each word: that of the input it points at."""
        places = (words - 2).clamp_min(0).unsqueeze(-1)  # START, END, inputs
        return here.inputs.gather(1, places.expand(-1, -1, here.inputs.shape[-1]))

    def _pointed(self, shown: Float[Tensor, "b t m"], memory: Memory) -> Float[Tensor, "b t v"]:
        """Scores before the softmax; words that point at nothing have none."""
        query = shown.unsqueeze(1)
        if self.attention.watchers:
            self.attention.look(shown, memory)
        scores = self.attention.score(query, memory.keys).squeeze(1)
        seen = self.attention.allowed(query, memory, 0)
        scores = scores if seen is None else scores.masked_fill(~seen.squeeze(1), -torch.inf)
        return torch.cat((scores.new_full((*scores.shape[:2], END), -torch.inf), scores), -1)

    def _allowed(self, scores: Float[Tensor, "b v"], left: Bool[Tensor, "b n"]) -> Float[Tensor, "b v"]:
        if self.order == "any":
            return scores
        may = torch.ones_like(scores, dtype=torch.bool)
        may[:, FIRST:] = left
        may[:, END] = ~left.any(1) if self.order == "all" else True
        return scores.masked_fill(~may, -torch.inf)


def build_pointer(settings: PointerModel, d_input: int, order: str) -> Pointer:
    """The model a recipe describes."""
    width = settings.width
    mechanism = Attention(Additive(width, width, width))
    return Pointer(mechanism, d_input, width, order if settings.constrained else "any")
