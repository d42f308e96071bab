"""Which word of the source each word of a translation came from, read from attention; and how good such links are.

A link is a pair (source word, target word), as Moses writes it: `0-0 1-2`. Words are what `str.split` finds.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import overload

import numpy as np
from jaxtyping import Float, Int

Link = tuple[int, int]
Span = tuple[int, int]

_SPACE = "\u2581"
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_WORD = re.compile(r"\S+")
_SILENT = frozenset(("<pad>", "<s>", "</s>"))


def places(pieces: Sequence[str]) -> list[Span]:
    """From which to which character of the decoded text each piece reaches; bytes of one character all have it."""
    at, found = 0, list[Span]()
    for piece, text in zip(pieces, _spelt(pieces), strict=True):
        found.append((at, at + len(text)) if text or isinstance(_meaning(piece), str) else found[-1])
        at += len(text)
    return found


def lengths(pieces: Sequence[str]) -> Int[np.ndarray, " n"]:
    """How many characters each piece stands for: 1 for a byte that begins one, -1 for one that goes on with it."""
    meanings = map(_meaning, pieces)
    found = [len(one) if isinstance(one, str) else -1 if 0x80 <= one < 0xC0 else 1 for one in meanings]
    return np.array(found, np.int64)


@dataclass(frozen=True, eq=False)
class Spans(Sequence[Span]):
    """Spans as two arrays: a megabyte of text has a million, and so many tuples take longer than finding them."""

    starts: Int[np.ndarray, " n"]
    ends: Int[np.ndarray, " n"]

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, place: int) -> Span: ...
    @overload
    def __getitem__(self, place: slice) -> Spans: ...
    def __getitem__(self, place: int | slice) -> Span | Spans:
        if isinstance(place, slice):
            return Spans(self.starts[place], self.ends[place])
        return int(self.starts[place]), int(self.ends[place])

    def __iter__(self) -> Iterator[Span]:
        return zip(self.starts.tolist(), self.ends.tolist(), strict=True)


def places_by(lengths: Int[np.ndarray, " n"], spaced: bool) -> Spans:
    """The same as `places` for pieces of these lengths, in a fraction of the time.

    `spaced` says whether the first begins with a space, which is not of the text.
    """
    ends = lengths.clip(0).cumsum() - spaced
    starts = ends - np.abs(lengths)
    starts[:1] = 0
    return Spans(starts, ends)


@lru_cache(2**17)
def _meaning(piece: str) -> str | int:
    """The text that a piece stands for, or the byte."""
    byte = _BYTE.fullmatch(piece)
    if byte is not None:
        return int(byte[1], 16)
    return "" if piece in _SILENT else piece.replace(_SPACE, " ")


def _spelt(pieces: Sequence[str]) -> list[str]:
    """What each piece adds to the text; the space that sentencepiece puts in front of a text is not of it."""
    found: list[str] = []
    while len(found) < len(pieces):
        meaning = _meaning(pieces[len(found)])
        if isinstance(meaning, str):
            found.append(meaning)
        else:
            found += _from_bytes(pieces[len(found) : len(found) + 4])
    if found and pieces[0].startswith(_SPACE):
        found[0] = found[0][1:]
    return found


def _from_bytes(pieces: Sequence[str]) -> list[str]:
    """The character that these begin with, then nothing for its other bytes; U+FFFD for a byte that begins none."""
    first = _meaning(pieces[0])
    assert isinstance(first, int)
    size = 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    given = [byte for byte in map(_meaning, pieces[:size]) if isinstance(byte, int)]
    try:
        return [bytes(given).decode("utf-8"), *[""] * (size - 1)] if len(given) == size else ["\ufffd"]
    except UnicodeDecodeError:
        return ["\ufffd"]


def word_spans(text: str) -> list[Span]:
    """Where the words of a text are."""
    return [match.span() for match in _WORD.finditer(text)]


def words_at(spans: Iterable[Span], words: Sequence[Span]) -> list[int]:
    """For each span, which of these words its last character is in; -1 for one that is in none."""
    starts, found = [start for start, _ in words], []
    for start, end in spans:
        word = bisect_right(starts, max(start, end - 1)) - 1
        found.append(word if word >= 0 and words[word][1] >= end and end > start else -1)
    return found


def words_of(pieces: Sequence[str]) -> tuple[list[str], list[int]]:
    """The words that pieces make, and which of them each piece belongs to: -1 for spaces and the end."""
    text = "".join(_spelt(pieces))
    words = word_spans(text)
    return [text[start:end] for start, end in words], words_at(places(pieces), words)


def by_word(
    weights: Float[np.ndarray, "t s"], source_words: Sequence[int], target_words: Sequence[int]
) -> Float[np.ndarray, "w v"]:
    """Attention between words: summed over the pieces of a source word, averaged over those of a target word."""
    seen = np.asarray(weights, np.float64)
    if seen.shape != (len(target_words), len(source_words)):
        raise ValueError(
            f"the weights are {seen.shape[0]} by {seen.shape[1]}, and there are {len(target_words)} pieces of the "
            f"translation and {len(source_words)} of the source; a mechanism that mixes keys says nothing of words"
        )
    columns = _membership(source_words)  # s v
    rows = _membership(target_words)  # t w
    table: Float[np.ndarray, "w v"] = (rows.T @ seen @ columns) / np.maximum(1, rows.sum(0))[:, None]
    return table


def _membership(words: Sequence[int]) -> Float[np.ndarray, "n w"]:
    table = np.zeros((len(words), max(words, default=-1) + 1))
    for piece, word in enumerate(words):
        if word >= 0:
            table[piece, word] = 1
    return table


def links(
    attention: Float[np.ndarray, "l h t s"],
    source_words: Sequence[int],
    target_words: Sequence[int],
    layer: int | None = None,
    heads: Sequence[int] | None = None,
) -> list[Link]:
    """The source word that each target word looked at most for its part, by the mean of some heads of one layer."""
    return strongest(by_word(chosen(attention, layer, heads), source_words, target_words))


def strongest(table: Float[np.ndarray, "w v"]) -> list[Link]:
    """For each target word the source word that it looked at most for its part; none for one that looked at none."""
    if not table.size:
        return []
    even = evened(table)
    looked = zip(even.argmax(1).tolist(), even.max(1).tolist(), strict=True)
    return [(source, word) for word, (source, weight) in enumerate(looked) if weight > 0]


def evened(table: Float[np.ndarray, "w v"]) -> Float[np.ndarray, "w v"]:
    """Attention by how much more a word looks somewhere than the others do: each column divided by its mean.

    Trained models rest on some words that they need not look at (a full stop, a long word), and what every word looks
    at belongs to none. One more row, alike for all columns, counts in the mean: one word alone keeps its order.
    """
    words, sources = table.shape
    usual = (table.sum(0) + 1 / max(1, sources)) / (words + 1)
    even: Float[np.ndarray, "w v"] = table / usual
    return even


def chosen(
    attention: Float[np.ndarray, "l h t s"], layer: int | None = None, heads: Sequence[int] | None = None
) -> Float[np.ndarray, "t s"]:
    """The mean of these heads (without a choice: all) of this layer (without a choice: the last but one)."""
    picked = default_layer(len(attention)) if layer is None else layer
    if not -len(attention) <= picked < len(attention):
        raise ValueError(f"there is no layer {picked}; the model has {len(attention)}, from 0 or from -1 backwards")
    seen = np.asarray(attention[picked], np.float64)
    wrong = [head for head in heads or () if not 0 <= head < len(seen)]
    if wrong:
        raise ValueError(f"there is no head {wrong[0]}; a layer of this model has {len(seen)}, from 0")
    mean: Float[np.ndarray, "t s"] = (seen if heads is None else seen[list(heads)]).mean(0)
    return mean


def default_layer(count: int) -> int:
    """Without gold links to choose by, the last but one: best in most Transformers (Garg et al. 2019)."""
    return max(0, count - 2)


def agreement(table: Float[np.ndarray, "w v"]) -> float:
    """How far both directions agree, as F1: links of each target word and of each source word. Needs no gold."""
    if not table.size:
        return 1.0
    down = set(strongest(table))
    across = {(word, int(column.argmax())) for word, column in enumerate(table.T) if column.max() > 0}
    return 2 * len(down & across) / max(1, len(down) + len(across))


def aer(found: Iterable[Hashable], sure: Iterable[Hashable], possible: Iterable[Hashable] = ()) -> float:
    """Alignment error rate (Och & Ney 2003), lower is better: 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|), S within P.

    For a corpus give (sentence, source word, target word) for each link.
    """
    links, certain = set(found), set(sure)
    allowed = certain | set(possible)
    if not links and not certain:
        return 0.0
    return 1 - (len(links & certain) + len(links & allowed)) / (len(links) + len(certain))


def moses(found: Iterable[Link]) -> str:
    """Links as Moses writes them."""
    return " ".join(f"{source}-{target}" for source, target in sorted(found))
