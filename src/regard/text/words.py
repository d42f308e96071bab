"""Whole words as numbers: the known ones have their own, an unknown one has that of its place in the source.

See, Liu & Manning 2017, 2.2: the vocabulary is extended for each text by the words that only this text has.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Int64

from regard.files import plain_text
from regard.text.ids import END, UNKNOWN

FIRST = END + 1
"""The number of the first known word."""

_WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")

Text = tuple[str, ...]
"""A text as its words."""


def split_words(text: str) -> Text:
    """Words and signs of a text, in small letters."""
    return tuple(_WORD.findall(text.lower()))


class Words:
    """A vocabulary of whole words, and what stands for those that are not in it.

    A word that is not known and stands in the source has the temporary number `len(words) + place`, of the place
    where it first stands: so the source itself tells what such a number means.
    """

    def __init__(self, known: Sequence[str]) -> None:
        self.known = tuple(known)

    @classmethod
    def of(cls, texts: Iterable[Text], most: int) -> Words:
        """The commonest words of texts; of equally common ones, the first by the alphabet."""
        counts = Counter(word for text in texts for word in text)
        order = sorted(counts, key=lambda word: (-counts[word], word))
        return cls(order[: max(0, most - FIRST)])

    @classmethod
    def read(cls, path: Path) -> Words:
        """The words of a file, one a line."""
        return cls(plain_text(path, 2**26).split("\n")[:-1])

    def write(self, path: Path) -> None:
        """One word a line; the file is there as a whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.new")
        beside.write_text("".join(f"{word}\n" for word in self.known), encoding="utf-8")
        os.replace(beside, path)

    def __len__(self) -> int:
        """Numbers below this are the same in every text."""
        return FIRST + len(self.known)

    def __contains__(self, word: str) -> bool:
        return word in self._numbers

    def source(self, text: Text) -> Int64[np.ndarray, " n"]:
        """A text that is read: known words, and temporary numbers."""
        return self.target(text, text)

    def target(self, text: Text, source: Text) -> Int64[np.ndarray, " n"]:
        """A text that is said after reading `source`: what neither the vocabulary nor the source has is unknown."""
        places = {word: len(self) + place for place, word in reversed(list(enumerate(source)))}
        numbers = (self._numbers.get(word) or places.get(word, UNKNOWN) for word in text)
        return np.fromiter(numbers, np.int64, len(text))

    def said(self, numbers: Iterable[int], source: Text) -> Text:
        """What these numbers mean after reading `source`."""
        return tuple(self._word(number, source) for number in numbers)

    def _word(self, number: int, source: Text) -> str:
        if number >= len(self):
            return source[number - len(self)]
        return self.known[number - FIRST] if number >= FIRST else "[unknown]"

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: FIRST + place for place, word in enumerate(self.known)}
