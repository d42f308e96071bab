"""What a language model reads: windows of running text, or questions about what stood far back. NumPy only."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from regard.files import plain_text
from regard.text.ids import END, UNKNOWN
from regard.text.lines import lines
from regard.text.places import located

FIRST = 4  # ids below are padding, unknown, START and END
NAMES = ["<pad>", "<unk>", "<start>", "<end>"]

Split = Literal["train", "valid", "test"]


@dataclass(frozen=True)
class Passages:
    """Rows of words, and the word to be guessed after each; 0 where none is asked for."""

    before: np.ndarray  # b t
    after: np.ndarray  # b t


class Source(ABC):
    """Where passages come from."""

    @property
    @abstractmethod
    def vocabulary(self) -> Sequence[str]:
        """The words by their ids."""

    @abstractmethod
    def batches(self, epoch: int) -> int:
        """How many batches an epoch has."""

    @abstractmethod
    def batch(self, epoch: int, number: int) -> Passages:
        """One of them; the same epoch and number give the same."""

    @abstractmethod
    def held_out(self, split: Split) -> Passages | None:
        """What the best model is chosen by, or measured on at the end."""


def words_of(line: str, unit: str) -> Sequence[str]:
    """A line as what is guessed, one after the other."""
    return list(line) if unit == "characters" else line.split()


def vocabulary_of(text: Iterator[str], unit: str, most: int) -> list[str]:
    """The most frequent words, and before them those that every vocabulary has."""
    counts = Counter(word for line in text for word in words_of(line, unit))
    if not counts:
        raise ValueError("the text has no word to learn from; give a file with some lines of text")
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return [*NAMES, *ranked[: max(1, most - FIRST)]]


def read_vocabulary(file: Path) -> list[str]:
    """Words as they were written down beside a model, one a line, each once."""
    words = plain_text(file).removesuffix("\n").split("\n")
    if words[:FIRST] != NAMES or len(set(words)) < len(words):
        raise ValueError(f"{file} is not a vocabulary of this program; restore it from a copy")
    return words


@dataclass(frozen=True)
class RunningText(Source):
    """Files of text, joined line by line and cut into windows. Every epoch cuts elsewhere."""

    files: Mapping[Split, Path | None]
    words: Sequence[str]
    unit: str
    window: int
    rows: int
    seed: int
    kept: dict[Split, np.ndarray] = field(default_factory=dict, repr=False)

    @property
    def vocabulary(self) -> Sequence[str]:
        return self.words

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """The id of each word."""
        return {word: number for number, word in enumerate(self.words)}

    def numbers(self, line: str) -> list[int]:
        """A line as ids, with its end."""
        return [*(self.ids.get(word, UNKNOWN) for word in words_of(line, self.unit)), END]

    def stream(self, split: Split) -> np.ndarray | None:
        """All of a text as ids; a twentieth of what is learned from stands in for a validation text."""
        if split not in self.kept:
            file = self.files["train" if split == "valid" and self.files["valid"] is None else split]
            if file is None:
                return None
            whole = np.array([number for line in lines(located(file)) for number in self.numbers(line)], np.int64)
            if self.files["valid"] is None and split != "test":
                cut = len(whole) - len(whole) // 20
                whole = whole[:cut] if split == "train" else whole[cut:]
            if len(whole) <= self.window:
                raise ValueError(
                    f"{file} has {len(whole):,} words for {split}, which is not one window of {self.window}; "
                    "give more text, or a smaller --data.window"
                )
            self.kept[split] = whole
        return self.kept[split]

    def batches(self, epoch: int) -> int:
        whole = self.stream("train")
        assert whole is not None
        return max(1, ((len(whole) - 1) // self.window - 1) // self.rows)

    def batch(self, epoch: int, number: int) -> Passages:
        whole = self.stream("train")
        assert whole is not None
        rng = np.random.default_rng((self.seed, epoch))
        count = max(1, (len(whole) - 1) // self.window - 1)  # one window less, so that all can be shifted
        shift = int(rng.integers(0, len(whole) - count * self.window))
        order = rng.permutation(count)
        chosen = order[np.arange(number * self.rows, (number + 1) * self.rows) % count]
        return windows(whole, shift + chosen * self.window, self.window)

    def held_out(self, split: Split) -> Passages | None:
        whole = self.stream(split)
        if whole is None:
            return None
        return windows(whole, np.arange((len(whole) - 1) // self.window) * self.window, self.window)


def windows(whole: np.ndarray, starts: np.ndarray, length: int) -> Passages:
    """The words from each start on, and the words after them."""
    places = starts[:, None] + np.arange(length)
    return Passages(whole[places], whole[places + 1])


@dataclass(frozen=True)
class Recall(Source):
    """Names are given values, words that mean nothing follow, then a name: what was its value?

    A name and its value stand side by side; the words that follow are values too, so that no word by itself tells
    that it matters.
    """

    facts: int
    values: int
    distance: int
    rows: int
    held_out_rows: int
    seed: int

    BATCHES = 100

    @property
    def vocabulary(self) -> Sequence[str]:
        return [*NAMES, *(f"n{name}" for name in range(self.facts)), *(f"v{value}" for value in range(self.values))]

    def batches(self, epoch: int) -> int:
        return self.BATCHES

    def batch(self, epoch: int, number: int) -> Passages:
        return self.draw(np.random.default_rng((self.seed, epoch, number)), self.rows)

    def held_out(self, split: Split) -> Passages | None:
        count = self.held_out_rows if split == "test" else 256
        return self.draw(np.random.default_rng((2**31, 0 if split == "test" else 1)), count)

    def draw(self, rng: np.random.Generator, count: int) -> Passages:
        """So many questions."""
        names = np.argsort(rng.random((count, self.facts)), 1)
        values = rng.integers(0, self.values, (count, self.facts))
        nothing = rng.integers(0, self.values, (count, self.distance))
        which, rows = rng.integers(0, self.facts, count), np.arange(count)
        told = np.stack((FIRST + names, FIRST + self.facts + values), 2).reshape(count, -1)
        asked = FIRST + names[rows, which]
        before = np.concatenate((told, FIRST + self.facts + nothing, asked[:, None]), 1)
        after = np.zeros_like(before)
        after[:, -1] = FIRST + self.facts + values[rows, which]
        return Passages(before, after)
