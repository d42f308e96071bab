"""The text that the settings of a translator name: files, or a generator."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from regard.tasks.settings import TextData
from regard.text.read import BadText, PairSource, read_pairs

Pair = tuple[int, str, str]


@dataclass(frozen=True)
class Texts:
    """Training, validation and test text, before anything is done with it."""

    train: Iterable[Pair]
    valid: list[Pair] | None
    tests: dict[str, list[Pair]]
    where: str
    length: int | None = None
    """Of the training text, where it was counted."""
    files: tuple[Path, ...] = ()
    """Where it lies, if it lies in files."""


def texts_of(data: TextData, seed: int) -> Texts:
    """The text that the settings name."""
    if data.generated is not None:
        return _generated(data.generated, seed)
    if data.source is None and data.pairs is None:
        raise ValueError(
            "no text is given; name it with --data.source F --data.target F or --data.pairs F.tsv, "
            "or use a recipe that brings its own, such as dates"
        )
    train = read_pairs(data.source, data.target, data.pairs, data.swap)
    valid = _optional(data.valid_source, data.valid_target, data.valid_pairs, data.swap)
    where = " and ".join(str(path) for path in train.files)
    return Texts(train, valid, tests_of(data), where, train.length, train.files)


def tests_of(data: TextData) -> dict[str, list[Pair]]:
    """What is scored once, at the end, by name; the training text is not looked at."""
    if data.generated is not None:
        return _generated_tests(data.generated)
    test = _optional(data.test_source, data.test_target, data.test_pairs, data.swap)
    return {"test": test} if test else {}


def languages(data: TextData) -> tuple[str | None, str | None]:
    """The languages of what is read and what is said."""
    named = (data.source_language, data.target_language)
    return (named[1], named[0]) if data.swap else named


def _generated(name: str, seed: int) -> Texts:
    tests = _generated_tests(name)
    from regard.text import dates

    return Texts(list(dates.pairs("train", seed)), list(dates.pairs("valid", seed)), tests, "dates")


def _generated_tests(name: str) -> dict[str, list[Pair]]:
    if name != "dates":
        raise ValueError(f"there is no generator '{name}'; there is: dates")
    from regard.text import dates

    return {"test": list(dates.pairs("test", 1)), "held_out": list(dates.pairs("held_out", 1))}


def _optional(source: Path | None, target: Path | None, pairs: Path | None, swap: bool) -> list[Pair] | None:
    if source is None and target is None and pairs is None:
        return None
    found = PairSource(source, target, pairs, swap, more=True)
    kept = list(found)
    if not kept:
        raise BadText(f"{found.where(1)}: there is no line. Give a file with one sentence a line.")
    return kept
