"""Pairs of text from two files line by line, or from one of tab-separated columns."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import cast

from regard.text.lines import BadText, digest, lines

__all__ = ["BadText", "PairSource", "Unequal", "digest", "lines", "read_pairs"]


class Unequal(BadText):
    """Two files of which one has more lines."""


@dataclass(frozen=True)
class PairSource:
    """Where pairs come from: two files line by line, or one of tab-separated columns.

    Iterating gives (line number from 1, source, target), and may be repeated. `swap` exchanges the sides. `more`
    allows further columns, as validation files have them: other translations of the same source, see `references`.
    """

    source: Path | None = None
    target: Path | None = None
    pairs: Path | None = None
    swap: bool = False
    more: bool = False
    length: int | None = field(default=None, compare=False)
    """How many pairs there are, once they were counted."""

    def __post_init__(self) -> None:
        two = self.source is not None and self.target is not None
        if (self.pairs is None) != two or (self.pairs is not None and (self.source or self.target)):
            raise BadText("Give a source and a target file, or one file of tab-separated pairs, and not both.")
        if self.source is not None and self.target is not None and _same(self.source, self.target):
            raise BadText(f"{self.source}: source and target are the same file. Name the translation as target.")

    def __iter__(self) -> Iterator[tuple[int, str, str]]:
        rows = ((n, s, targets[0]) for n, s, targets in self.references()) if self.pairs else self._beside()
        return ((number, target, source) for number, source, target in rows) if self.swap else rows

    def references(self) -> Iterator[tuple[int, str, tuple[str, ...]]]:
        """(line number, source, its translations) as the files have them, not swapped."""
        if self.pairs is not None:
            return _columns(self.pairs, self.more)
        return ((number, source, (target,)) for number, source, target in self._beside())

    def _beside(self) -> Iterator[tuple[int, str, str]]:
        return _beside(cast(Path, self.source), cast(Path, self.target))

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read."""
        return (self.pairs,) if self.pairs is not None else (cast(Path, self.source), cast(Path, self.target))

    def swapped(self) -> PairSource:
        """The same pairs, translated the other way."""
        return replace(self, swap=not self.swap)

    def where(self, line: int) -> str:
        """The place of a pair, for people."""
        return " and ".join(f"{path}:{line}" for path in self.files)

    def count(self) -> int:
        """How many pairs there are; reads everything, so whatever is wrong is said now."""
        return sum(1 for _ in self)

    def fingerprint(self) -> str:
        """SHA-256 of the contents: equal text, equal fingerprint, wherever the files lie."""
        parts = [digest(path) for path in self.files] + [f"swap={self.swap}"]
        return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def read_pairs(
    source: Path | None = None, target: Path | None = None, pairs: Path | None = None, swap: bool = False
) -> PairSource:
    """Pairs from two files or from one, read through once to see that they can be read and are not empty."""
    found = PairSource(source, target, pairs, swap)
    try:
        count = found.count()
    except Unequal as error:
        raise Unequal(f"{error}{_place(found)}") from None
    if count == 0:
        raise BadText(f"{found.files[0]}:1: there is no line. Give a file with one sentence a line.")
    return replace(found, length=count)


def _place(pairs: PairSource) -> str:
    """Where one of two unequal files has a line too many, if it can be told."""
    from regard.text.shift import WINDOW, Alignment  # it needs numpy, which reading does not

    seen, window = Alignment(), list[tuple[int, str, str]]()
    with suppress(Unequal):
        for pair in pairs:
            window.append(pair)
            if len(window) == WINDOW:
                seen.add(window)
                window = []
    seen.add(window)
    seen.close()
    return f" It is probably near line {seen.shift.first}: {seen.shift.meaning}." if seen.shift else ""


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _beside(source: Path, target: Path) -> Iterator[tuple[int, str, str]]:
    """Two files line by line; they must end together."""
    left, right = lines(source), lines(target)
    for number, (text, other) in enumerate(zip_longest(left, right), start=1):
        if text is None or other is None:
            rest = number + sum(1 for _ in (right if text is None else left))
            counts = (number - 1, rest) if text is None else (rest, number - 1)
            raise Unequal(_unequal(source, target, *counts))
        yield number, text, other


def _unequal(source: Path, target: Path, left: int, right: int) -> str:
    short, there = (target, right) if right < left else (source, left)
    return (
        f"{short}:{there + 1}: there is no such line: {source} has {left:,} lines and {target} {right:,}. "
        "Both need one line per pair: look for the place where one has a line too few or too many."
    )


def _columns(path: Path, more: bool) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """One file of source, tab, target; quotes are text."""
    for number, text in enumerate(lines(path), start=1):
        source, *targets = text.split("\t")
        if not targets:
            raise BadText(
                f"{path}:{number}: there is no tab in the line, so no translation. "
                "Write each line as: source, one tab, target."
            )
        if len(targets) > 1 and not more:
            raise BadText(
                f"{path}:{number}: {len(targets) + 1} columns where two are expected (source, tab, target). "
                f"Keep the two you want with: cut -f1,2 {path}; or replace tabs inside sentences by spaces."
            )
        yield number, source, tuple(targets)
