"""Dates as people write them, in many languages, to 2026-11-15: generated, so that everyone has text to learn from.

The words and patterns are those of Unicode's CLDR, as Babel has them. What a reader could not tell (is 5/11/2026 in
May or in November?) is never written, so every line has one right answer.
"""

from __future__ import annotations

import datetime
import hashlib
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

Split = Literal["train", "valid", "test", "held_out"]

# fmt: off
LOCALES = (
    "ar_EG", "bg", "bn", "ca", "cs", "da", "de", "el", "en_GB", "en_US", "es", "fa", "fi", "fr", "he", "hi", "hu",
    "id", "is", "it", "ja", "ko", "lt", "mr", "nb", "nl", "pl", "pt_BR", "ro", "ru", "sv", "th", "tr", "uk", "vi",
    "zh",
)
TESTS = ("test", "held_out")  # scored once, at the end
UNSEEN = ("af", "az", "gl", "pt_PT", "sk", "sr_Latn", "zh_Hant")  # never trained on: what is learned beyond the words
_WORDS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
    "twentieth",
)
# fmt: on
SIZES: dict[Split, int] = {"train": 40_000, "valid": 500, "test": 2_000, "held_out": 500}
YEARS = (1900, 2100)

_NAMED = ("full", "long", "medium", "short")
_SKELETONS = ("yMMMd", "yMMMEd", "yMMMMd", "yMMMMEEEEd", "yMd", "yMEd")
_ENGLISH = (  # {th} is 15th, {word} is fifteenth
    "'{th}' MMMM y",
    "MMMM '{th}', y",
    "'the {th} of' MMMM y",
    "EEEE 'the {th} of' MMMM y",
    "'the {word} of' MMMM, y",
    "EEEE, MMMM '{th}' y",
    "d-MMM-y",
)
_MORE = {  # ways that CLDR does not have
    "en_GB": _ENGLISH,
    "en_US": _ENGLISH,
    "fr": ("'le' d MMMM y", "'le' EEEE d MMMM y"),
    "de": ("'den' d. MMMM y", "EEEE, 'den' d. MMMM y"),
    "it": ("'il' d MMMM y",),
    "es": ("'el' d 'de' MMMM 'de' y",),
}
_ZEROS = {"arab": "\u0660", "arabext": "\u06f0", "beng": "\u09e6", "deva": "\u0966"}  # the digit 0 of other scripts
_DIGITS = {ord(zero) + digit: str(digit) for zero in _ZEROS.values() for digit in range(10)}
_BUCKETS = {"valid": range(5), "test": range(5, 15), "train": range(15, 100)}  # percent of all written forms


@dataclass(frozen=True)
class Way:
    """One way of writing a date: a pattern of CLDR's in the language of a locale."""

    locale: str
    pattern: str

    def write(self, date: datetime.date) -> str:
        """The date as this way has it, with plain spaces and without marks of direction."""
        text = str(_compiled(self)(date))
        text = text.replace("{th}", _th(date.day)).replace("{word}", _word(date.day))
        return re.sub(r"\s+", " ", re.sub("[\u200e\u200f\u061c]", "", text)).strip()


def pairs(split: str, seed: int = 1) -> Iterator[tuple[int, str, str]]:
    """(line, written date, ISO date) of a split in its usual size; splits never share a written form."""
    known = cast(Split, split)
    for line, (written, iso) in enumerate(generate(SIZES[known], seed, known), start=1):
        yield line, written, iso


def generate(count: int, seed: int = 1, split: Split = "train") -> list[tuple[str, str]]:
    """So many different written dates with their ISO form, the same for the same seed."""
    rng = random.Random(f"{seed} {split}")
    by_locale = unseen_ways() if split == "held_out" else ways()
    found: dict[str, tuple[str, str]] = {}
    while len(found) < count:
        date = _some_date(rng)
        way = rng.choice(rng.choice(by_locale))
        text = way.write(date)
        if ambiguous(text, date):
            continue
        written = _as_people_do(text, way.locale, rng)
        key = canonical(written)
        if split == "held_out" or _bucket(key) in _BUCKETS[split]:
            found.setdefault(key, (written, date.isoformat()))
    return list(found.values())


def describe() -> str:
    """What this text is, for whoever reads a model card or a report."""
    return (
        f"Generated, not collected: dates from {YEARS[0]} to {YEARS[1]}, written with the words and patterns of "
        f"Unicode's CLDR (by Babel) in {len(LOCALES)} locales, some in lower or upper case or without punctuation, "
        f"to ISO 8601. {len(UNSEEN)} more locales are never trained on, and scored by themselves."
    )


@cache
def ways() -> list[list[Way]]:
    """Every way of writing a date, by locale."""
    more = [[Way(locale, pattern) for pattern in patterns] for locale, patterns in _MORE.items()]
    return [_ways_of(locale) for locale in LOCALES] + more


@cache
def unseen_ways() -> list[list[Way]]:
    """The same for locales that are never trained on, without those that happen to look like one that is."""
    dates = [datetime.date(2026, month, 20 + month % 8) for month in range(1, 13)]
    seen = {canonical(way.write(date)) for group in ways() for way in group for date in dates}
    new = [
        [way for way in _ways_of(locale) if not any(canonical(way.write(date)) in seen for date in dates)]
        for locale in UNSEEN
    ]
    return [group for group in new if group]


def ambiguous(text: str, date: datetime.date) -> bool:
    """Whether day and month could be exchanged: with slashes some write one first, some the other."""
    return (
        bool(re.search(r"(?<!\d)\d{1,2} ?/ ?\d{1,2} ?/ ?\d{4}", text)) and date.day <= 12 and date.day != date.month
    )


def canonical(text: str) -> str:
    """A written form without its case, its punctuation and its script's digits: forms that share it are not split."""
    digits = text.casefold().translate(_DIGITS)
    if re.search(r"\d ?[./-] ?\d", digits):
        return digits
    return re.sub(r"\s+", " ", re.sub("[.,،]", " ", digits)).strip()


def _ways_of(locale: str) -> list[Way]:
    from babel import Locale

    found = Locale.parse(locale)
    patterns = [found.date_formats[name].pattern for name in _NAMED]
    patterns += [found.datetime_skeletons[name].pattern for name in _SKELETONS if name in found.datetime_skeletons]
    four_digits = [pattern for pattern in patterns if not re.search("(?<!y)yy(?!y)", pattern)]
    return [Way(locale, pattern) for pattern in dict.fromkeys(four_digits)]


def _some_date(rng: random.Random) -> datetime.date:
    first, last = (datetime.date(year, 1, 1).toordinal() for year in (YEARS[0], YEARS[1] + 1))
    return datetime.date.fromordinal(rng.randrange(first, last))


def _as_people_do(text: str, locale: str, rng: random.Random) -> str:
    """Some lower or upper case, some without points and commas, mostly in the digits of their script."""
    text = rng.choices((text, text.lower(), text.upper()), (70, 18, 12))[0]
    if rng.random() < 0.2 and not re.search(r"\d ?[./-] ?\d", text):
        text = re.sub(r"\s+", " ", re.sub("[.,،]", " ", text)).strip()
    zero = _zero(locale)
    if zero is not None and rng.random() < 0.8:
        text = text.translate({ord("0") + digit: ord(zero) + digit for digit in range(10)})
    return text


@cache
def _compiled(way: Way) -> Callable[[datetime.date], str]:
    """Reading the pattern takes longer than using it."""
    from babel import Locale
    from babel.dates import parse_pattern

    pattern, locale = parse_pattern(way.pattern), Locale.parse(way.locale)
    return lambda date: pattern.apply(date, locale)


@cache
def _zero(locale: str) -> str | None:
    from babel import Locale

    return _ZEROS.get(str(Locale.parse(locale).default_numbering_system))


def _bucket(key: str) -> int:
    """A percent that depends on the written form alone, so that splits stay apart for every seed."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=4).digest(), "big") % 100


def _th(day: int) -> str:
    ending = "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


def _word(day: int) -> str:
    if day <= 20:
        return _WORDS[day - 1]
    return "thirtieth" if day == 30 else f"{'twenty' if day < 30 else 'thirty'}-{_WORDS[day % 10 - 1]}"
