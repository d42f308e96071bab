"""Gold links: which word belongs to which, as people have marked them, and how near a model's links come."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.files import shown
from regard.text.read import BadText, lines
from regard.translate.align import Link, aer

_LINK = re.compile(r"(\d{1,6})([-?p])(\d{1,6})")


@dataclass(frozen=True)
class Gold:
    """The links of one pair of lines. Sure ones must be found; possible ones may be, and hold the sure ones too."""

    sure: frozenset[Link]
    possible: frozenset[Link]


@dataclass(frozen=True)
class LinkScore:
    """How near found links come to gold ones (Och & Ney 2003)."""

    aer: float
    precision: float
    """The share of links found that are possible."""
    recall: float
    """The share of sure links that were found."""
    lines: int
    links: int
    """Found."""


def read_links(path: Path, sources: Sequence[str], targets: Sequence[str], first: int = 0) -> list[Gold]:
    """A line of links for each pair of lines: `0-0` is sure, `1?2` or `1p2` possible (Moses or Pharaoh, with signs).

    Words are what spaces part, counted from `first`. A link to a word that is not there is refused with its line.
    """
    found: list[Gold] = []
    for number, text in enumerate(lines(path), start=1):
        if number > len(sources):
            break
        sizes = len(sources[number - 1].split()), len(targets[number - 1].split())
        found.append(_gold(f"{path}:{number}", text, sizes, first))
    count = sum(1 for _ in lines(path))
    if count != len(sources):
        raise BadText(
            f"{path}:{min(count, len(sources)) + 1}: it has {count:,} lines and the text {len(sources):,}. "
            "Gold links need one line for each pair of lines, empty where there is none."
        )
    return found


def _gold(where: str, text: str, sizes: tuple[int, int], first: int) -> Gold:
    sure, possible = set[Link](), set[Link]()
    for word in text.split():
        match = _LINK.fullmatch(word)
        if match is None:
            raise BadText(
                f"{where}: {shown(word, 40)!r} is no link. Write source-target, as 0-2, and 0?2 or 0p2 for one that "
                "is only possible."
            )
        link = int(match[1]) - first, int(match[3]) - first
        if not (0 <= link[0] < sizes[0] and 0 <= link[1] < sizes[1]):
            counted = "" if first else "; if the file counts from 1, say --links-from-1"
            raise BadText(
                f"{where}: there is no link {word}: the lines have {sizes[0]} and {sizes[1]} words, counted from "
                f"{first}{counted}."
            )
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return Gold(frozenset(sure), frozenset(possible))


def link_score(found: Sequence[Iterable[Link]], gold: Sequence[Gold]) -> LinkScore:
    """Of a whole text: links of all lines are counted together."""
    ours = {(n, *link) for n, some in enumerate(found) for link in some}
    sure = {(n, *link) for n, one in enumerate(gold) for link in one.sure}
    possible = {(n, *link) for n, one in enumerate(gold) for link in one.possible}
    return LinkScore(
        aer(ours, sure, possible),
        len(ours & possible) / len(ours) if ours else 0.0,
        len(ours & sure) / len(sure) if sure else 1.0,
        len(gold),
        len(ours),
    )
