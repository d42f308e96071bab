"""Terms whose translation is given: found in the source, and wished for in the translation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from regard.text.read import BadText, lines
from regard.translate.split import no_spaces


class Glossary:
    """Source terms and the words they must become. Finding them is linear in the text, however many there are."""

    def __init__(self, terms: Mapping[str, str]) -> None:
        empty = [source for source, target in terms.items() if not source.strip() or not target.strip()]
        if empty:
            raise ValueError(f"the glossary has an empty side at {empty[0]!r}; give a term and its translation")
        self.terms = {source.strip(): target.strip() for source, target in terms.items()}
        sizes: dict[str, set[int]] = {}
        for term in self.terms:
            for first in {term[0], term[0].upper(), term[0].title()}:
                sizes.setdefault(first, set()).add(len(term))
        self._lengths = {first: sorted(found, reverse=True) for first, found in sizes.items() if len(first) == 1}
        self._first = re.compile("[" + "".join(map(re.escape, self._lengths)) + "]") if self._lengths else None

    @classmethod
    def load(cls, path: Path | str) -> Glossary:
        """A file of source term, tab, target term; empty lines and those that begin with # are for people."""
        terms: dict[str, str] = {}
        for number, line in enumerate(lines(Path(path)), start=1):
            if not line.strip() or line.startswith("#"):
                continue
            columns = [column.strip() for column in line.split("\t")]
            if len(columns) != 2 or not all(columns):
                raise BadText(f"{path}:{number}: a term, one tab and its translation are expected; got {line[:60]!r}")
            if terms.get(columns[0], columns[1]) != columns[1]:
                raise BadText(f"{path}:{number}: {columns[0]!r} has another translation already; keep one of them")
            terms[columns[0]] = columns[1]
        return cls(terms)

    def found(self, text: str) -> list[tuple[str, str]]:
        """Terms that a text has, with what they must become: whole words, the longest first, none within another.

        A term in small letters is also found where it begins a sentence with a capital.
        """
        found, at = list[tuple[str, str]](), 0
        while self._first is not None and (begins := self._first.search(text, at)) is not None:
            at = begins.start()
            within = at > 0 and text[at - 1].isalnum() and text[at].isalnum() and not no_spaces(text[at])
            term = None if within else self._at(text, at)
            if term is None:
                at += 1
            else:
                found.append((term, self.terms[term]))
                at += len(term)
        return found

    def _at(self, text: str, start: int) -> str | None:
        for length in self._lengths[text[start]]:
            here = text[start : start + length]
            if len(here) < length:
                continue
            follows = text[start + length : start + length + 1]
            if follows.isalnum() and here[-1].isalnum() and not no_spaces(here[-1]):
                continue
            if here in self.terms:
                return here
            small = here[0].lower() + here[1:]
            if small in self.terms:
                return small
        return None
