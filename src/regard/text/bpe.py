"""Byte-pair encoding to read and run by hand (Sennrich, Haddow & Birch 2016, algorithm 1).

Start from characters; merge the most frequent neighbours within words; repeat. `pieces.py` is what models use: the
same idea by sentencepiece, hundreds of times faster, with bytes for what was never seen.

>>> for merge in learn({"low": 5, "lower": 2, "newest": 6, "widest": 3}, 4):
...     print(merge)
e s (9)
es t (9)
est </w> (9)
l o (7)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

END = "</w>"
"""The end of a word, a letter of its own: that a user types it changes nothing, as it is four letters then."""

Symbol = tuple[str, ...]
"""A piece: the letters it was merged from."""


@dataclass(frozen=True)
class Merge:
    """Two neighbours that become one piece, and how often they stood side by side when they did."""

    left: Symbol
    right: Symbol
    count: int

    def __str__(self) -> str:
        return f"{written(self.left)} {written(self.right)} ({self.count})"


def learn(words: Mapping[str, int], merges: int) -> list[Merge]:
    """The first merges of a word list with counts; among equals, the pair that is met first."""
    spelt = {word: _letters(word) for word in words}
    found: list[Merge] = []
    while len(found) < merges:
        neighbours = Counter[tuple[Symbol, Symbol]]()
        for word, count in words.items():
            for pair in zip(spelt[word], spelt[word][1:], strict=False):
                neighbours[pair] += count
        if not neighbours:
            break
        left, right = max(neighbours, key=lambda pair: neighbours[pair])
        found.append(Merge(left, right, neighbours[left, right]))
        spelt = {word: _merged(symbols, left, right) for word, symbols in spelt.items()}
    return found


def steps(word: str, merges: Sequence[Merge]) -> list[list[str]]:
    """How a word is put together, from letters to pieces: the merge tree, a line for each merge that applies."""
    symbols = _letters(word)
    tree = [symbols]
    for merge in merges:
        symbols = _merged(symbols, merge.left, merge.right)
        if len(symbols) < len(tree[-1]):
            tree.append(symbols)
    return [[written(symbol) for symbol in line] for line in tree]


def encode(text: str, merges: Sequence[Merge]) -> list[Symbol]:
    """Pieces of a text: merges are applied to each word in the order they were learned."""

    @cache
    def pieces(word: str) -> list[Symbol]:
        symbols = _letters(word)
        for merge in merges:
            symbols = _merged(symbols, merge.left, merge.right)
        return symbols

    return [piece for word in text.split(" ") for piece in pieces(word)]


def decode(pieces: Sequence[Symbol]) -> str:
    """The text again, exactly."""
    letters = [letter for piece in pieces for letter in piece]
    return "".join(" " if letter == END else letter for letter in letters[:-1])


def written(symbol: Symbol) -> str:
    """How a piece is written."""
    return "".join(symbol)


def _letters(word: str) -> list[Symbol]:
    return [(letter,) for letter in (*word, END)]


def _merged(symbols: list[Symbol], left: Symbol, right: Symbol) -> list[Symbol]:
    """The pieces of a word after one merge, from left to right."""
    answer: list[Symbol] = []
    for symbol in symbols:
        if answer and answer[-1] == left and symbol == right:
            answer[-1] = left + right
        else:
            answer.append(symbol)
    return answer
