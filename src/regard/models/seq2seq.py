"""What training and search ask of a model that turns one sequence into another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from regard.attend.mechanism import Mechanism

Ids = Int[Tensor, "b n"]
Source = Shaped[Tensor, "b n *d"]  # ids, points, patches
Lengths = Int[Tensor, " b"]


@runtime_checkable
class State(Protocol):
    """Where a model is after some steps: memories, caches, recurrent states; a row per hypothesis."""

    def pick(self, rows: Int[Tensor, " b2"]) -> State:
        """These rows, in this order; a row may be picked more than once."""


class Stepper(Protocol):
    """What a search goes by: read something, then say word after word."""

    def start(self, source: Source, lengths: Lengths) -> State:
        """Read the source."""

    def step(self, state: State, words: Int[Tensor, " b"]) -> tuple[Float[Tensor, "b v"], State]:
        """Scores of the next word after these words, and the state then."""


class Searchable(nn.Module, ABC):
    """What a search asks of a model: read something, then say word after word. Ids are those of `regard.text.ids`."""

    longest: int | None = None
    """The most words it can say, where there is a limit."""
    longest_source: int | None = None
    """The most words it can read, where there is a limit."""
    reads_at_once: bool = False
    """Whether all words of a source go through a map in one product, so that one source makes many rows."""

    @abstractmethod
    def start(self, source: Source, lengths: Lengths) -> State:
        """Read the source; memories are prepared once."""

    @abstractmethod
    def step(self, state: State, words: Int[Tensor, " b"]) -> tuple[Float[Tensor, "b v"], State]:
        """Scores of the next word after these words, and the state then."""

    def stepper(self) -> Stepper:
        """What a search goes by: this model, or the same prepared so that a step costs less."""
        return self

    @abstractmethod
    def sights(self) -> list[Mechanism]:
        """The mechanisms that look at the source, bottom to top: what an alignment is read from."""


class Seq2Seq(Searchable):
    """Words in, words out: all steps at once to train, one step at a time to search; both give the same logits.

    `output` is the last map, from a state to a score per word; training asks for `states` and applies it in
    chunks, so that the whole table of scores is never formed.
    """

    output: nn.Linear

    @abstractmethod
    def states(self, source: Ids, lengths: Lengths, before: Int[Tensor, "b t"]) -> Float[Tensor, "b t m"]:
        """The state that predicts each next word, given the words before it (START first); padding may follow."""

    def blocks(self) -> list[nn.Module]:
        """Parts that are only ever called as a whole."""
        return []

    def forward(self, source: Ids, lengths: Lengths, before: Int[Tensor, "b t"]) -> Float[Tensor, "b t v"]:
        """Scores of every next word."""
        return self.output(self.states(source, lengths, before))  # type: ignore[no-any-return]
