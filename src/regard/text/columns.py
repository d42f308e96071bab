"""Files of which a line is no plain pair: dictionaries of pronunciations, tables of inflected forms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from regard.text.lines import BadText, lines

Reading = Callable[[Sequence[str]], Iterator[tuple[str, str]]]


@dataclass(frozen=True)
class Table:
    """Pairs from a file of tab-separated columns, read in one of the ways of `READINGS`.

    A source with several right answers stands there several times, with the same line number.
    """

    path: Path
    columns: str
    swap: bool = False
    length: int | None = None
    """How many pairs there are, once they were counted."""

    def __iter__(self) -> Iterator[tuple[int, str, str]]:
        fewest, read = READINGS[self.columns]
        for number, line in enumerate(lines(self.path), start=1):
            cells = line.split("\t")
            if len(cells) < fewest:
                raise BadText(
                    f"{self.path}:{number}: {len(cells)} columns where {self.columns} need {fewest}. "
                    "Separate them by tabs, or leave data.columns at pair."
                )
            for source, target in read(cells):
                yield (number, target, source) if self.swap else (number, source, target)

    @property
    def files(self) -> tuple[Path, ...]:
        """The file that is read."""
        return (self.path,)

    def counted(self) -> Table:
        """The same, read through once to see that it can be read and is not empty."""
        if (count := sum(1 for _ in self)) == 0:
            raise BadText(f"{self.path}:1: there is no line. Give a file with one {self.columns[:-1]} a line.")
        return replace(self, length=count)


def pronunciations(cells: Sequence[str]) -> Iterator[tuple[str, str]]:
    """A word and its pronunciations in ARPAbet, without the numbers that mark stress, each once."""
    word, *sounds = cells
    return ((word, sound) for sound in dict.fromkeys(re.sub(r"\d", "", sound) for sound in sounds))


def inflections(cells: Sequence[str]) -> Iterator[tuple[str, str]]:
    """A lemma with the features that are asked for, such as pos=N,case=DAT, and the form that has them."""
    lemma, features, form, *_ = cells
    yield f"{lemma} {features.replace(',', ' ')}", form


READINGS: dict[str, tuple[int, Reading]] = {"pronunciations": (2, pronunciations), "inflections": (3, inflections)}
"""By the name of a setting: the fewest columns, and what becomes of them."""
