"""Text longer than a model was trained for, cut into spans that cover every character: at sentences, then at words.

Only text that is too long is cut, and at line breaks inside a text always. Everything is linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from regard.translate.align import Span

Places = Callable[[str], Sequence[Span]]
"""Which characters each piece of a text covers."""

NO_SPACES = (  # scripts, and their signs, that put no spaces between words, as the inside of a [...]
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
)
ACCENTS = 64  # on one letter, in pieces; a cut may be among more
LONGEST_PIECE = 16  # characters, as sentencepiece learns them
BREAKS = "\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
_BREAK = re.compile(f"[{BREAKS}]+")
_SPACED = re.compile(r"\s")
_NO_SPACES = re.compile(f"[{NO_SPACES}]")
_WIDE = "。！？｡"  # end a sentence without a space behind them
_STOP = re.compile(rf"[.!?…‽؟۔։።।॥။។{_WIDE}]+[\"'»”’)\]」』）】]*\s*")
_ABBREVIATION = re.compile(
    r"(?:^|[^\w])(?:[^\W\d]|\d{1,3}|Dr|Mrs?|Ms|Prof|St|Jr|Sr|vs|No|Nr|Fig|fig|pp|ca|bzw|usw|vgl|Abs|Art|al|Jan|Feb|Mar|Apr|Aug|Sept?|Oct|Nov|Dec|approx|ed|"
    r"etc|e\.g|i\.e|cf|z\.B|d\.h|u\.a|Inc|Ltd|Co|M|Mme|Mlle|Sra|Sr|Dra)$"
)
_CLAUSE = re.compile(r"[,;:，；：、،؛–—)](?=\s)")


def no_spaces(text: str) -> bool:
    """Whether the text begins in a script that puts no spaces between words."""
    return _NO_SPACES.match(text) is not None


def sentences(text: str) -> list[Span]:
    """Spans of sentences, each with the spaces behind it; together they are the text."""
    return _between(text, list(_stops(text, 0, len(text))))


def _between(text: str, cuts: Sequence[int]) -> list[Span]:
    edges = [0, *cuts, len(text)]
    return [(start, end) for start, end in pairwise(edges) if end > start]


def _stops(text: str, first: int, last: int) -> Iterator[int]:
    """Where sentences end before `last`: not in 3.14, after "Dr.", nor before a small letter."""
    for match in _STOP.finditer(text, first, last):
        start, end = match.span()
        if end == last:
            return
        if text[start] in _WIDE:
            yield end
        elif text[end - 1].isspace() and not text[end].islower():
            wordy = start > first and _is_wordy(text[start - 1])
            if not (wordy and text[start] == "." and text[start + 1].isspace() and _abbreviates(text, start, first)):
                yield end


def _abbreviates(text: str, at: int, first: int) -> bool:
    """Whether a point behind a letter or digit here is that of an abbreviation; one by itself is one."""
    if at == first + 1 or not _is_wordy(text[at - 2]):
        return True
    return _ABBREVIATION.search(text, at - 10, at) is not None


def _is_wordy(character: str) -> bool:
    return character == "_" or character.isalnum()


def divided(text: str, places: Places, limit: int, whole: Sequence[Span] = ()) -> list[Span]:
    """Spans of at most `limit` pieces that cover the text; those in `whole` (sorted) are never cut.

    A line that fits stays as it is, with however many sentences. One that does not is cut into its sentences, and a
    sentence that does not fit behind a comma, else at a space, else where a piece ends.
    """
    inside = _inside(len(text), whole)
    lines = _between(text, [m.end() for m in _BREAK.finditer(text) if m.end() < len(text) and not inside[m.end()]])
    found: list[Span] = []
    for start, end in lines:
        if _fits(text[start:end], places, limit):
            found.append((start, end))
            continue
        cuts = [cut for cut in _stops(text, start, end) if not inside[cut]]
        for span in pairwise([start, *cuts, end]):
            if 4 * (span[1] - span[0]) < limit:
                found.append(span)
            else:
                found += _cut(text, *span, places, limit, inside)
    return found


def _inside(length: int, whole: Sequence[Span]) -> bytearray:
    """Marks for the places where no cut may be."""
    marks = bytearray(length + 1)
    for start, end in whole:
        if end - start == 2:  # a text may have a million
            marks[start + 1] = 1
        elif end - start > 2:
            marks[start + 1 : end] = b"\1" * (end - start - 1)
    return marks


def _fits(text: str, places: Places, limit: int) -> bool:
    """Whether it has so few pieces: one in front of all, and one for each byte at most."""
    core = text.strip()
    if len(core) > LONGEST_PIECE * limit:
        return False
    return len(core.encode("utf-8", "surrogatepass")) < limit or len(places(core)) <= limit


def _cut(text: str, start: int, end: int, places: Places, limit: int, inside: bytearray) -> Iterator[Span]:
    """A sentence in spans that fit; cut within a word, the same letters may be more pieces: each is checked."""
    if 4 * (end - start) < limit:
        yield start, end
        return
    seen = places(text[start:end])
    at = begin = 0  # a piece, and the character at which the span begins
    while len(seen) - at > (room := _room(text, start + begin, limit)):
        cut = _best(text, start, seen, at, room, inside)
        if cut >= end - start:
            break
        yield from _checked(text, start + begin, start + cut, places, limit, inside)
        begin = cut
        at = bisect_left(seen, (cut, -1), at)
    yield from _checked(text, start + begin, end, places, limit, inside)


def _room(text: str, start: int, limit: int) -> int:
    """How many pieces there is room for: the rest of a word that was cut gets one in front."""
    return limit if start == 0 or " " in text[start - 1 : start + 1] else max(1, limit - 1)


def _checked(text: str, start: int, end: int, places: Places, limit: int, inside: bytearray) -> Iterator[Span]:
    room = limit * 3 // 4
    cuttable = end - start > 1 and room >= 1 and not all(inside[start + 1 : end])
    if cuttable and not (_at_spaces(text, start, end) or _fits(text[start:end], places, limit)):
        yield from _cut(text, start, end, places, room, inside)
    else:
        yield start, end


def _at_spaces(text: str, start: int, end: int) -> bool:
    """Whether it begins and ends with whole words, whose pieces are the same alone."""
    first = start == 0 or " " in text[start - 1 : start + 1]
    return first and (end == len(text) or " " in text[end - 1 : end + 1])


def _best(text: str, start: int, seen: Sequence[Span], at: int, limit: int, inside: bytearray) -> int:
    """Where to cut, counted from `start`: as late as possible behind a clause, else a word, a letter, a piece."""
    near = list(seen[at : at + limit + 1])  # one at a time they take longer
    space = letter = piece = 0
    first, last = near[0][0], start + near[limit - 1][1] + 1
    spaced = _SPACED.search(text, start + first, last) is not None
    claused = spaced and _CLAUSE.search(text, start + near[limit // 2][0], last) is not None
    for end in range(limit - 1, -1, -1):
        cut = near[end][1]
        if cut <= first or inside[start + cut] or _goes_on(near, end):
            continue
        piece = piece or cut
        if not spaced and end < limit - ACCENTS:
            break  # no letter has so many
        if _belongs(text, start + cut):
            continue
        letter = letter or cut
        if not spaced:
            break
        if text[start + cut : start + cut + 1].isspace():
            space = space or cut
            if end >= limit // 2 and _CLAUSE.match(text, start + cut - 1):
                return cut
        if space and (not claused or end <= limit // 2):
            break
    return space or letter or piece or _behind(start, near[0], inside)


def _behind(start: int, first: Span, inside: bytearray) -> int:
    """The next place for a cut, where what must stay whole is longer than the limit."""
    cut = max(first[1], first[0] + 1)
    while start + cut < len(inside) - 1 and inside[start + cut]:
        cut += 1
    return cut


def _goes_on(seen: Sequence[Span], piece: int) -> bool:
    """Whether other bytes of the same character follow."""
    return piece + 1 < len(seen) and seen[piece + 1][0] < seen[piece][1]


def _belongs(text: str, at: int) -> bool:
    """Whether the character here is part of the one before: an accent, a joiner, a variation."""
    if at >= len(text):
        return False
    return unicodedata.combining(text[at]) > 0 or text[at] in "\u200d\ufe0e\ufe0f" or text[at - 1] == "\u200d"
