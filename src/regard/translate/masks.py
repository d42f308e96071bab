"""Placeholders taken out of a sentence before it is translated, and put into the translation where attention points.

A placeholder that stands for a word is replaced by a number, which every model has seen; whatever the model makes of
it, the words that looked at it are where the placeholder belongs. Tags are no words: they are left out, and put
around the words that looked at the words they were around.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from regard.translate.align import Span, words_at
from regard.translate.placeholders import Kept
from regard.translate.split import NO_SPACES

STAND_IN = "12"
_UNIT = re.compile(rf"[^\W{NO_SPACES}]+|\S")  # a word, a sign, or a character of a script without spaces
_TAG = re.compile(r"<(/?)([A-Za-z][\w:-]*)[^<>]*?(/?)>")
_VOID = frozenset(("br", "hr", "img", "input", "wbr", "meta", "link", "area", "col", "embed", "source", "track"))


@dataclass(frozen=True)
class Edit:
    """Characters from `start` to `end` become `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Masked:
    """A sentence as the model gets it, and where its placeholders were."""

    text: str
    whole: str
    """The sentence as it was."""
    kept: tuple[Kept, ...]
    edits: tuple[Edit, ...]
    """What made `text` of `whole`, one for each placeholder."""

    def spans(self) -> list[Span]:
        """Where each placeholder was, in `text`: a stand-in, or nothing between two characters."""
        found, shift = [], 0
        for edit in self.edits:
            start = edit.start + shift
            found.append((start, start + len(edit.text)))
            shift += len(edit.text) - (edit.end - edit.start)
        return found

    def back(self, span: Span) -> Span:
        """Where a place in `text` was in the whole sentence; a stand-in's is its placeholder's."""
        shift = 0
        start, end = span
        for edit, (first, last) in zip(self.edits, self.spans(), strict=True):
            if first < end and start < last:
                return edit.start, edit.end
            if first >= end:
                break
            shift = edit.end - last
        return start + shift, end + shift


def masked(text: str, kept: Sequence[Kept]) -> Masked:
    """The sentence without its placeholders."""
    edits = []
    for one in kept:
        end = one.end
        if one.tags and text[end : end + 1] == " " and text[max(0, one.start - 1) : one.start] in ("", " "):
            end += 1  # or two spaces would be left
        edits.append(Edit(one.start, end if one.tags else one.end, "" if one.tags else STAND_IN))
    return Masked(edited(text, edits), text, tuple(kept), tuple(edits))


def edited(text: str, edits: Sequence[Edit]) -> str:
    """The text with these made, which are in order and do not overlap."""
    parts, at = [], 0
    for edit in edits:
        parts += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join((*parts, text[at:]))


def restored(
    mask: Masked, said: str, source: Sequence[Span], target: Sequence[Span], weights: Float[np.ndarray, "t s"]
) -> list[Edit] | None:
    """What puts each placeholder into the translation, once; None where attention does not say where.

    `source` and `target` are the characters of each piece, `weights` how much the pieces looked at each other.
    """
    looks = _Looks(mask, said, source, target, weights)
    edits = []
    for number, (one, span) in enumerate(zip(mask.kept, mask.spans(), strict=True)):
        edit = looks.around(one, span) if one.tags else looks.instead_of(number, one)
        if edit is None:
            return None
        edits.append(edit)
    order = sorted(range(len(edits)), key=lambda at: (edits[at].start, edits[at].end, at))
    placed = [edits[at] for at in order]
    if any(one.end > other.start for one, other in pairwise(placed)):
        return None
    return placed if _nested(edited(said, placed)) or not _nested(mask.whole) else None


class _Looks:
    """Which units of the translation looked most at which unit of the source."""

    def __init__(
        self, mask: Masked, said: str, source: Sequence[Span], target: Sequence[Span],
        weights: Float[np.ndarray, "t s"],
    ) -> None:  # fmt: skip
        self.whole, self.said = mask.whole, said
        stand_ins = [span for span, one in zip(mask.spans(), mask.kept, strict=True) if not one.tags]
        free = [m.span() for m in _UNIT.finditer(mask.text) if not _touches(m.span(), stand_ins)]
        self.units = sorted([*free, *stand_ins])
        self.number = {at: self.units.index(span) for at, span in enumerate(mask.spans()) if span in stand_ins}
        self.words = [match.span() for match in _UNIT.finditer(said)]
        columns, rows = words_at(source, self.units), words_at(target, self.words)
        table = np.zeros((len(self.words), len(self.units)))
        for piece, word in enumerate(rows):
            for key, unit in enumerate(columns):
                if word >= 0 and unit >= 0:
                    table[word, unit] += weights[piece, key]
        self.table = table
        self.looked = table.argmax(1) if table.size else np.zeros(0, np.int64)

    def instead_of(self, number: int, one: Kept) -> Edit | None:
        """In place of the words that looked at its stand-in: of those that stand together, the ones that did most."""
        words = np.flatnonzero(self.looked == self.number[number])
        runs = np.split(words, np.flatnonzero(np.diff(words) > 1) + 1)  # words that stand together
        best = max(runs, key=lambda run: self.table[run, self.number[number]].sum())
        others = [self.said[slice(*self.words[word])] for run in runs if run is not best for word in run]
        if not len(best) or any(any(c.isdigit() for c in word) for word in others):
            return None  # nothing of a stand-in may stay
        return Edit(self.words[best[0]][0], self.words[best[-1]][1], self.whole[one.start : one.end])

    def around(self, one: Kept, span: Span) -> Edit:
        """Before what looked at the word behind the tag; behind what looked at the word before it, if it closes."""
        tag, at = self.whole[one.start : one.end], span[0]
        if one.closing:
            for unit in [u for u, (_, end) in enumerate(self.units) if end <= at][:-6:-1]:
                if len(words := np.flatnonzero(self.looked == unit)):
                    place = self.words[words[-1]][1]
                    return Edit(place, place, (" " if self.whole[one.start - 1].isspace() else "") + tag)
            return Edit(0, 0, tag)
        for unit in [u for u, (start, _) in enumerate(self.units) if start >= at][:5]:
            if len(words := np.flatnonzero(self.looked == unit)):
                place = self.words[words[0]][0]
                return Edit(place, place, tag + (" " if self.whole[one.end : one.end + 1].isspace() else ""))
        return Edit(len(self.said), len(self.said), tag)


def _touches(span: Span, others: Sequence[Span]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in others)


def _nested(text: str) -> bool:
    """Whether every tag that is opened is closed, one within the other."""
    opened: list[str] = []
    for closes, name, alone in _TAG.findall(text):
        if closes:
            if not opened or opened.pop() != name:
                return False
        elif not alone and name.lower() not in _VOID:
            opened.append(name)
    return not opened
