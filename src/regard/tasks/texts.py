"""The text that the settings of a translator name: files, or a generator."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from regard.tasks.settings import TextData
from regard.text.columns import Table
from regard.text.generated import generator
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
    train = _train(data)
    where = " and ".join(str(path) for path in train.files)
    return Texts(train, _more(data, "valid"), tests_of(data), where, train.length, train.files)


def tests_of(data: TextData) -> dict[str, list[Pair]]:
    """What is scored once, at the end, by name; the training text is not looked at."""
    if data.generated is not None:
        return _generated_tests(data.generated)
    test = _more(data, "test")
    return {"test": test} if test else {}


def languages(data: TextData) -> tuple[str | None, str | None]:
    """The languages of what is read and what is said."""
    named = (data.source_language, data.target_language)
    return (named[1], named[0]) if data.swap else named


def _generated(name: str, seed: int) -> Texts:
    made = generator(name)
    return Texts(list(made.pairs("train", seed)), list(made.pairs("valid", seed)), _generated_tests(name), name)


def _generated_tests(name: str) -> dict[str, list[Pair]]:
    made = generator(name)
    return {split: list(made.pairs(split, 1)) for split in made.TESTS}


def _train(data: TextData) -> PairSource | Table:
    """The training pairs, read through once to see that they can be read."""
    if data.columns == "pair":
        return read_pairs(data.source, data.target, data.pairs, data.swap)
    if data.pairs is None:
        raise ValueError(f"data.columns = '{data.columns}' are those of one file; give it with --data.pairs FILE")
    return Table(data.pairs, data.columns, data.swap).counted()


def _more(data: TextData, split: str) -> list[Pair] | None:
    """The pairs of another split, if there are files for it."""
    source, target, pairs = (getattr(data, f"{split}_{side}") for side in ("source", "target", "pairs"))
    if pairs is not None and data.columns != "pair":
        return list(Table(pairs, data.columns, data.swap).counted())
    return _optional(source, target, pairs, data.swap)


def _optional(source: Path | None, target: Path | None, pairs: Path | None, swap: bool) -> list[Pair] | None:
    if source is None and target is None and pairs is None:
        return None
    found = PairSource(source, target, pairs, swap, more=True)
    kept = list(found)
    if not kept:
        raise BadText(f"{found.where(1)}: there is no line. Give a file with one sentence a line.")
    return kept
