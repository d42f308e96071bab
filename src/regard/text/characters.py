"""Characters that are accepted as text but may not be what was meant: what they are, and what becomes of them."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Oddity:
    """A kind of character or mark-up worth telling about."""

    name: str
    pattern: re.Pattern[str]
    meaning: str
    warning: bool = False


ODDITIES = (
    Oddity(
        "replacement characters",
        re.compile("\ufffd"),
        "U+FFFD stands where a character was lost: convert the original again",
        warning=True,
    ),
    Oddity(
        "text decoded twice",
        re.compile("Ã[\x80-\xbf]|â€|Â[\xa0-\xbf]"),
        "UTF-8 read as another encoding once, such as Ã¤ for ä: convert the original again",
        warning=True,
    ),
    Oddity(
        "line separators inside lines",
        re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]"),
        "kept as text; some editors and tools break lines there, and would shift the sides",
        warning=True,
    ),
    Oddity(
        "control characters", re.compile("[\x01-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f]"), "kept as text", warning=True
    ),
    Oddity("private characters", re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff\ufdd0-\ufdef\ufffe\uffff]"), "kept"),
    Oddity("byte-order marks inside", re.compile("\ufeff"), "kept as text: files were joined here", warning=True),
    Oddity("tabs", re.compile("\t"), "kept as text"),
    Oddity("zero-width characters", re.compile("[\xad\u200b-\u200d\u2060]"), "kept as text, though nobody sees them"),
    Oddity("direction marks", re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"), "kept as text"),
    Oddity("unusual spaces", re.compile("[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]"), "kept as they are"),
    Oddity("accents written apart", re.compile("[\u0300-\u036f]"), "kept: é as e and ´ is other pieces than é"),
    Oddity("U+2581", re.compile("\u2581"), "kept: spelt in bytes, as sentencepiece writes a space so"),
    Oddity("HTML", re.compile(r"&(?:amp|lt|gt|quot|apos|nbsp|#\d{1,7});|</?[A-Za-z][^<>]{0,60}>"), "kept as text"),
    Oddity("spaces at the ends, or two together", re.compile(r"^ | $|  "), "kept as text"),
)
_ANY = re.compile("|".join(odd.pattern.pattern for odd in ODDITIES))  # most lines have none: one search tells


def oddities(text: str) -> list[Oddity]:
    """Which kinds a text has."""
    return [odd for odd in ODDITIES if odd.pattern.search(text)] if _ANY.search(text) else []
