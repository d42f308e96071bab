"""How looking, cells and read-out are joined: the place where Bahdanau and Luong differ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attend.mechanism import Attention
from regard.models.dropout import Dropout
from regard.models.recurrence.along import along
from regard.models.recurrence.by_hand.loop import AfterLoop, BeforeLoop, Loop
from regard.models.recurrence.by_hand.unroll import known, unroll
from regard.models.recurrence.cells import Cell
from regard.models.recurrence.readout import Readout, Tanh
from regard.models.recurrence.sight import Place, Rows, Sight

Words = Float[Tensor, "b t _"]
Answer = tuple[Float[Tensor, "b t m"], Place]
Masks = Sequence[Float[Tensor, "b t _"] | None]


class Wiring(nn.Module, ABC):
    """Cells one above the other, a view of the source, and a read-out.

    With `feeding`, the first cell is given the last read-out too (Luong, Pham & Manning 2015, 3.3). Dropout between
    layers is drawn for all steps before the first, so that every loop leaves out the same.
    """

    loop: type[Loop]
    """Its loop by hand."""

    def __init__(
        self, cells: Sequence[Cell], sight: Sight, readout: Readout, feeding: bool = False, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.cells, self.sight, self.readout = nn.ModuleList(cells), sight, readout
        self.feeding, self.dropout = feeding, Dropout(dropout)

    @abstractmethod
    def step(self, word: Rows, place: Place, kept: Sequence[Rows | None]) -> tuple[Rows, Place]:
        """The read-out after one more word, and the place then; `kept` is the dropout before each layer."""

    @abstractmethod
    def read(self, shown: Words, seen: Words, words: Words) -> Float[Tensor, "b t m"]:
        """The read-outs of all steps."""

    def forward(self, words: Words, place: Place) -> Answer:
        """All read-outs of a sequence of words, by the fastest loop that gives the same answer."""
        kept = self.masks(words)
        return self.swift(words, place, kept) or self.plain(words, place, kept)

    def plain(self, words: Words, place: Place, kept: Masks) -> Answer:
        """One step after another, as written."""
        reads = []
        for t, word in enumerate(words.unbind(1)):
            read, place = self.step(word, place, [None if mask is None else mask[:, t] for mask in kept])
            reads.append(read)
        return torch.stack(reads, 1), place

    def swift(self, words: Words, place: Place, kept: Masks) -> Answer | None:
        """The same by hand, if all parts are known there."""
        attention, memory = self.sight.mechanism, place.memory
        fed = (place.fed, self.readout.layer) if self.feeding and type(self.readout) is Tanh else None
        if self.feeding != (fed is not None) or not known(attention, memory, self._cells):
            return None
        assert isinstance(attention, Attention)
        assert memory is not None
        found = unroll(self.loop, self._cells, attention, memory, words, place.cells, fed, kept)
        top = self.top.shown(found.states[-1])
        reads = self.read(top, found.seen, words) if found.reads is None else found.reads
        states = tuple(state[:, -1] for state in found.states)
        return reads, replace(
            place, cells=states, at=place.at + words.shape[1], fed=reads[:, -1, : place.fed.shape[1]]
        )

    def layers(self, words: Words, place: Place, kept: Masks) -> tuple[Words, Place]:
        """What the top cell shows at all steps where no cell waits for a look: whole layers, one after another."""
        x, states = words, list[Tensor]()
        for cell, before, mask in zip(self._cells, place.cells, kept, strict=True):
            x, whole = along(cell, x if mask is None else x * mask, before)
            states.append(whole[:, -1])
        return x, replace(place, cells=tuple(states))

    def turn(self, x: Rows, place: Place, kept: Sequence[Rows | None]) -> tuple[Rows, Place]:
        """One step of all cells; what the top one shows."""
        states: list[Tensor] = []
        for cell, before, mask in zip(self._cells, place.cells, kept, strict=True):
            states.append(cell(x if mask is None else x * mask, before))
            x = cell.shown(states[-1])
        return x, replace(place, cells=tuple(states))

    def masks(self, words: Words) -> Masks:
        """Dropout before each layer but the first, which is given words: 0, or what keeps the mean."""
        if not self.training or self.dropout.share == 0:
            return [None] * len(self.cells)
        ones = [words.new_ones(*words.shape[:2], cell.width) for cell in self._cells[:-1]]
        return [None, *(self.dropout(one) for one in ones)]

    @property
    def _cells(self) -> list[Cell]:
        return [cast(Cell, cell) for cell in self.cells]

    @property
    def top(self) -> Cell:
        """The uppermost cell."""
        return self._cells[-1]


class Before(Wiring):
    """Look with the previous state, and give the cell what was seen. Bahdanau, Cho & Bengio 2015.

    s_t = f(s_{t-1}, y_{t-1}, c_t), c_t seen by s_{t-1}; the words by s_t, c_t and y_{t-1} (their eq. 4).
    """

    loop = BeforeLoop

    def step(self, word: Rows, place: Place, kept: Sequence[Rows | None]) -> tuple[Rows, Place]:
        query = self.top.shown(place.cells[-1])
        seen, place = self.sight(query.unsqueeze(1), place)
        seen = seen.squeeze(1)
        shown, place = self.turn(torch.cat((word, seen, place.fed), -1), place, kept)
        read = self.readout(torch.cat((shown, seen, word), -1))
        return read, replace(place, at=place.at + 1, fed=read if self.feeding else place.fed)

    def read(self, shown: Words, seen: Words, words: Words) -> Float[Tensor, "b t m"]:
        return self.readout(torch.cat((shown, seen, words), -1))  # type: ignore[no-any-return]

    def swift(self, words: Words, place: Place, kept: Masks) -> Answer | None:
        if self.sight.mechanism is not None or self.feeding:
            return super().swift(words, place, kept)
        shown, place = self.layers(words, place, kept)
        seen, place = self.sight(shown, place)
        return self.read(shown, seen, words), replace(place, at=place.at + words.shape[1])


class After(Wiring):
    """Look with the current state, and join both: h~ = tanh(W [c; h]). Luong, Pham & Manning 2015."""

    loop = AfterLoop

    def step(self, word: Rows, place: Place, kept: Sequence[Rows | None]) -> tuple[Rows, Place]:
        shown, place = self.turn(torch.cat((word, place.fed), -1), place, kept)
        seen, place = self.sight(shown.unsqueeze(1), place)
        read = self.readout(torch.cat((seen.squeeze(1), shown), -1))
        return read, replace(place, at=place.at + 1, fed=read if self.feeding else place.fed)

    def read(self, shown: Words, seen: Words, words: Words) -> Float[Tensor, "b t m"]:
        return self.readout(torch.cat((seen, shown), -1))  # type: ignore[no-any-return]

    def swift(self, words: Words, place: Place, kept: Masks) -> Answer | None:
        if self.feeding:
            return super().swift(words, place, kept)
        shown, place = self.layers(words, place, kept)
        seen, place = self.sight(shown, place)  # all looks at once
        return self.read(shown, seen, words), replace(place, at=place.at + words.shape[1])
