"""Signs that programs fill in or act on, found in a text: `%1$s`, `{name}`, `<b>`, `&amp;`, addresses.

Each pattern begins with a sign of its own and stops at the next, so that finding them is linear in any text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from regard.translate.align import Span

_ADDRESS = r"[A-Za-z0-9\u00c0-\u1fff\-._~:/?#@!$&'()*+,;=%\[\]]"
_LAST = r"[A-Za-z0-9\u00c0-\u1fff\-_~/#@$&*+=%]"  # a full stop behind an address is the sentence's
_SIGNS = (
    rf"(?:(?:https?|ftp)://|(?<![\w.])www\.){_ADDRESS}{{0,2000}}{_LAST}",
    r"(?<![\w.+%-])[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}",
    r"<!--[^<>]{0,1000}-->|</?[A-Za-z][^<>]{0,1000}>",
    r"&(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});",
    r"\{\{[^{}]{0,200}\}\}|[$#%]?\{[^{}]{0,200}\}",
    r"%\([^()%\s]{1,64}\)[-+0#]{0,4}\d{0,3}(?:\.\d{1,3})?[diouxXeEfFgGcrsa]",
    r"%(?:\d{1,3}\$)?[-+0#']{0,4}\d{0,3}(?:\.\d{1,3})?(?:hh|ll|[hlLqjzt])?[diouxXeEfFgGaAcspn@%]",
)
_NUMBER = r"\d+(?:[.,:/'’\u00a0\u202f-]\d+)*"
SIGNS = re.compile("|".join(_SIGNS))
SIGNS_AND_NUMBERS = re.compile("|".join((*_SIGNS, _NUMBER)))
_TAG = re.compile(r"</?[A-Za-z!]")


@dataclass(frozen=True)
class Kept:
    """Placeholders that stand together: they move as one."""

    start: int
    end: int
    tags: bool
    """Whether there are only tags: they mark words, and are none themselves."""
    closing: bool = False
    """Whether all of them close what others opened."""


def signs(text: str, pattern: re.Pattern[str] = SIGNS) -> list[Span]:
    """Where the placeholders are, in their order."""
    return [match.span() for match in pattern.finditer(text)]


def counted(text: str, pattern: re.Pattern[str] = SIGNS) -> Counter[str]:
    """Which placeholders a text has, and how often."""
    return Counter(match[0] for match in pattern.finditer(text))


def together(text: str, spans: Sequence[Span]) -> list[Kept]:
    """Placeholders in groups: those that touch, and those of one kind with a space between."""
    groups: list[list[Span]] = []
    for start, end in spans:
        before = groups[-1][-1] if groups else None
        gap = None if before is None else text[before[1] : start]
        if before is not None and (gap == "" or (gap == " " and _tag(text, before) == _tag(text, (start, end)))):
            groups[-1].append((start, end))
        else:
            groups.append([(start, end)])
    return [_kept(text, group) for group in groups]


def _tag(text: str, span: Span) -> bool:
    return _TAG.match(text, *span) is not None


def _kept(text: str, group: Sequence[Span]) -> Kept:
    said = [text[start:end] for start, end in group]
    tags = all(_tag(text, span) for span in group)
    return Kept(group[0][0], group[-1][1], tags, tags and all(sign.startswith("</") for sign in said))
