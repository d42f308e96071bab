"""Pointer-generator networks: a summary's words are its own or copied from the text. See, Liu & Manning 2017.

P(w) = p_gen P_vocab(w) + (1 - p_gen) Σ_{i: w_i = w} a_i over an extended vocabulary (eq. 9): a word that only this
text has is numbered by its place there (`regard.text.words`), so that it can be copied and never has to be known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attend.mechanism import Mechanism
from regard.attend.memory import Memory
from regard.attend.scope import lengths as up_to
from regard.models.blocks import embedding, linear, output
from regard.models.dropout import Dropout
from regard.models.mechanisms import mechanism, minds_the_past
from regard.models.recurrence.cells import Cell, Lstm
from regard.models.recurrence.encoder import Backwards, BothWays, Encoder, Forwards
from regard.models.recurrence.first import First, FromLast
from regard.models.seq2seq import Ids, Lengths, Searchable, State
from regard.models.settings import CopyingModel
from regard.text.ids import UNKNOWN

Rows = Float[Tensor, "b _"]
BLOCK = 16  # words that a sum takes at once: in whole blocks it is the same whatever the longest text of a batch
TINY = 1e-10  # what is added to a chance, so that the logarithm of none is a number


@dataclass(frozen=True)
class Copied:
    """Where decoding is: the text and its words, the cell's state, what was seen last, and all weights so far."""

    memory: Memory
    source: Ids
    cell: Rows
    seen: Rows
    at: int = 0
    past: Float[Tensor, "b h t k"] | None = None

    def pick(self, rows: Int[Tensor, " b2"]) -> Copied:
        """These rows, in this order."""
        past = None if self.past is None else self.past[rows]
        return Copied(self.memory.pick(rows), self.source[rows], self.cell[rows], self.seen[rows], self.at, past)


@dataclass(frozen=True)
class Told:
    """All steps: scores of the vocabulary, how far each word is the model's own (p_gen), and where it looked."""

    scores: Float[Tensor, "b t v"]
    own: Float[Tensor, "b t"]
    weights: Float[Tensor, "b t n"]


class Gate(nn.Module, ABC):
    """How far the next word is the model's own rather than copied: p_gen, from 0 to 1."""

    @abstractmethod
    def forward(self, x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b"]:
        """From what was seen, the decoder's state and the word before."""

    @abstractmethod
    def learned(self, after: Int[Tensor, "b t"], vocabulary: int) -> Int[Tensor, "b t"]:
        """The words to be said, as far as this can say them."""


class Either(Gate):
    """σ(w_h·h* + w_s·s + w_x·x + b): some of both (eq. 8)."""

    def __init__(self, d_in: int) -> None:
        super().__init__()
        self.share = nn.Linear(d_in, 1)

    def forward(self, x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b"]:
        return self.share(x).float().sigmoid().squeeze(-1)  # type: ignore[no-any-return]

    def learned(self, after: Int[Tensor, "b t"], vocabulary: int) -> Int[Tensor, "b t"]:
        return after


class OwnOnly(Gate):
    """Nothing is copied: plain attention, to which all words beyond its vocabulary are one."""

    def forward(self, x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b"]:
        return torch.ones_like(x[..., 0], dtype=torch.float32)

    def learned(self, after: Int[Tensor, "b t"], vocabulary: int) -> Int[Tensor, "b t"]:
        return within(after, vocabulary)


class Copying(Searchable):
    """A reader of both ways, a decoder that is given what it saw last, and a gate between two ways to speak.

    Numbers from `vocabulary` on are places of the text; to the embedding they are all the unknown word.
    """

    def __init__(
        self, encoder: Encoder, first: First, cell: Cell, attention: Mechanism, gate: Gate, words: nn.Module,
        dropout: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.encoder, self.first, self.cell, self.attention = encoder, first, cell, attention
        self.gate, self.words, self.dropout = gate, words, Dropout(dropout)
        self.vocabulary = encoder.embedding.num_embeddings

    @property
    def covers(self) -> bool:
        """Whether its attention minds what was looked at already."""
        return minds_the_past(self.attention)

    def forward(self, source: Ids, lengths: Lengths, before: Int[Tensor, "b t"]) -> Float[Tensor, "b t v"]:
        """Log-probabilities of every next word: those of the vocabulary, then the places of the text."""
        return self.chances(self.told(source, lengths, before), source)

    def told(self, source: Ids, lengths: Lengths, before: Int[Tensor, "b t"]) -> Told:
        """All steps after the words before them (START first)."""
        here, given, reads = self.start(source, lengths), self._read(before), []
        for word in given.unbind(1):
            read, here = self._turn(word, here)
            reads.append(read)
        assert here.past is not None
        return self._told(torch.stack(reads, 1), given, here.past)

    def start(self, source: Ids, lengths: Lengths) -> Copied:
        read = self.encoder(within(source, self.vocabulary), lengths)
        memory = self.attention.memory(read.states, scope=up_to(lengths))
        return Copied(memory, source, self.first(read)[0], read.states.new_zeros(len(source), self.encoder.width))

    def step(self, state: State, words: Int[Tensor, " b"]) -> tuple[Float[Tensor, "b v"], Copied]:
        given = self._read(words)
        read, here = self._turn(given, cast(Copied, state))
        assert here.past is not None
        told = self._told(read.unsqueeze(1), given.unsqueeze(1), here.past[:, :, -1:])
        return self.chances(told, here.source).squeeze(1), here

    def sights(self) -> list[Mechanism]:
        return [self.attention]

    def chances(self, told: Told, source: Ids) -> Float[Tensor, "b t v"]:
        """Log-probabilities over the extended vocabulary; a word that stands twice has both weights (eq. 9)."""
        own, size = told.own.unsqueeze(-1), self.vocabulary + source.shape[1]
        both = F.pad(own * told.scores.softmax(-1), (0, source.shape[1] + -size % BLOCK))
        places = source.unsqueeze(1).expand_as(told.weights)
        return both.scatter_add(-1, places, (1 - own) * told.weights).log()

    def likelihood(self, told: Told, source: Ids, after: Int[Tensor, "b t"]) -> Float[Tensor, "b t"]:
        """The log-probability of these words alone, for which no table of all words is made."""
        after = self.gate.learned(after, self.vocabulary)
        spoken = told.scores.log_softmax(-1).gather(-1, within(after, self.vocabulary).unsqueeze(-1)).squeeze(-1)
        spoken = spoken.exp().masked_fill(after >= self.vocabulary, 0.0)
        copied = (told.weights * (source.unsqueeze(1) == after.unsqueeze(-1))).sum(-1)
        return (told.own * spoken + (1 - told.own) * copied + TINY).log()

    def _read(self, words: Int[Tensor, "*b"]) -> Float[Tensor, "*b m"]:
        return self.dropout(self.encoder.embedding(within(words, self.vocabulary)))  # type: ignore[no-any-return]

    def _turn(self, word: Rows, here: Copied) -> tuple[Rows, Copied]:
        """One step: what was seen and the decoder's state, side by side."""
        cell = self.cell(torch.cat((word, here.seen), -1), here.cell)
        shown = self.cell.shown(cell)
        look = self.attention.look(shown.unsqueeze(1), here.memory, here.at, here.past)
        seen = look.context.squeeze(1)
        past = look.weights if here.past is None else torch.cat((here.past, look.weights), 2)
        return torch.cat((seen, shown), -1), replace(here, cell=cell, seen=seen, at=here.at + 1, past=past)

    def _told(
        self, read: Float[Tensor, "b t d"], given: Float[Tensor, "b t m"], weights: Float[Tensor, "b h t n"]
    ) -> Told:
        scores = self.words(self.dropout(read)).float()
        return Told(scores, self.gate(torch.cat((read, given), -1)), weights.float().mean(1))


def within(words: Int[Tensor, "*b"], vocabulary: int) -> Int[Tensor, "*b"]:
    """Words as a vocabulary has them: places of a text are the unknown word."""
    return words.masked_fill(words >= vocabulary, UNKNOWN)


def build_copying(settings: CopyingModel, vocabulary: int) -> Copying:
    """The model a recipe describes."""
    width, narrow = settings.width, settings.embedding
    table = embedding(vocabulary, narrow)
    reader = BothWays(Forwards(Lstm(narrow, width)), Backwards(Lstm(narrow, width)))
    encoder, cell = Encoder(table, [reader], settings.dropout), Lstm(narrow + reader.width, width)
    sizes = {"d_query": width, "d_key": reader.width, "d_hidden": width}
    attention = mechanism(settings.attention, None, reader.width, **sizes)
    d_read = reader.width + width
    gate = Either(d_read + narrow) if settings.says == "both" else OwnOnly()
    tied = table if settings.tied == "all" else None
    words = nn.Sequential(linear(d_read, narrow), output(tied, vocabulary, narrow))
    return Copying(encoder, FromLast(encoder.sizes, [cell.size]), cell, attention, gate, words, settings.dropout)
