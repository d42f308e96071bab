"""Making ready what a translator is trained on: read, check, learn pieces, write numbers. Needs no torch."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from regard.tasks.settings import TextData
from regard.text.check import report
from regard.text.corpus import Corpus
from regard.text.pieces import Pieces
from regard.text.read import BadText, PairSource, digest, read_pairs

Pair = tuple[int, str, str]
Say = Callable[[str], None]

READY = "ready.json"


@dataclass(frozen=True)
class ParallelText:
    """The text of one run, as it stands in its folder."""

    folder: Path
    source: Pieces
    target: Pieces
    train: Corpus
    valid: list[Pair]
    tests: dict[str, list[Pair]]
    """Scored once, at the end: test, and whatever else the data bring."""
    where: str
    """What the lines of the training text are lines of."""

    @classmethod
    def open(cls, folder: Path) -> ParallelText:
        """What `prepare` made."""
        source = Pieces.load(folder / "pieces" / "source.model")
        path = folder / "pieces" / "target.model"
        told = json.loads((folder / "data" / READY).read_text(encoding="utf-8"))
        return cls(
            folder,
            source,
            Pieces.load(path) if path.exists() else source,
            Corpus.open(folder / "data" / "train"),
            _kept(folder / "data" / "valid.jsonl"),
            {name: _kept(folder / "data" / f"{name}.jsonl") for name in told["tests"]},
            told["where"],
        )


@dataclass(frozen=True)
class Older:
    """A run to go on from with other text: its pieces are kept, and a share of its text is mixed in."""

    folder: Path
    share: float

    def some(self, new: int) -> Iterator[Pair]:
        """Old pairs, spread evenly, so that they are this share of everything; none if the text is gone."""
        if self.share <= 0 or not (self.folder / "data" / "train").is_dir():
            return
        old = ParallelText.open(self.folder)
        wanted = min(len(old.train), round(new * self.share / (1 - self.share)))
        for number in range(wanted):
            at = number * len(old.train) // wanted
            source = old.source.decode([old.train.source(at).tolist()])
            target = old.target.decode([old.train.target(at).tolist()])
            yield -abs(old.train.line(at)), source[0], target[0]  # below 0: a line of the old text


def line_of(number: int) -> str:
    """A line of the training text, for people."""
    return str(number) if number > 0 else f"{-number} of the old text"


def prepare(data: TextData, folder: Path, seed: int, threads: int, say: Say, older: Older | None = None) -> None:
    """Everything that training needs, in this order; what is there already is not made again."""
    if is_ready(folder):
        return
    (folder / "data").mkdir(parents=True, exist_ok=True)
    (folder / "data" / READY).unlink(missing_ok=True)
    texts = texts_of(data, seed)
    valid = texts.valid if texts.valid is not None else list(_held_out(texts.train, data.hold_out))
    if texts.valid is None:
        say(f"no validation text given: {len(valid):,} training lines are held out for it")
    held = {source for _, source, _ in valid} if texts.valid is None else set()
    train = _Without(texts.train, held)
    found = report(train, *languages(data))
    for line in found.lines:
        say(line)
    if found.pairs == 0:
        raise BadText(
            f"{texts.where}: nothing is left to learn from: {len(valid):,} lines were held out. Give more text, or "
            "validation text of its own with --data.valid-source F --data.valid-target F."
        )
    if older is None:
        source, target = _pieces(data, folder / "pieces", train, threads, say)
        everything: Iterable[Pair] = train
    else:
        source, target = _same_pieces(older, folder / "pieces")
        some = list(older.some(found.pairs))
        say(f"{len(some):,} pairs of the old text are mixed in, so that it is not forgotten")
        everything = chain(train, some)
    corpus = Corpus.build(folder / "data" / "train", everything, source, target, data.longest, data.ratio)
    for reason, left in corpus.skipped.items():
        some_lines = ", ".join(map(line_of, left["lines"])) + (", ..." if left["count"] > len(left["lines"]) else "")
        say(f"left out: {left['count']:,} pairs, {reason} (line {some_lines})")
    _keep(folder / "data" / "valid.jsonl", valid)
    for name, pairs in texts.tests.items():
        _keep(folder / "data" / f"{name}.jsonl", pairs)
    ready = {"where": texts.where, "files": digests(data), "pairs": len(corpus), "tests": list(texts.tests),
             "report": found.as_dict()}  # fmt: skip
    beside = folder / "data" / f".{READY}.new"
    beside.write_text(json.dumps(ready, indent=1), encoding="utf-8")
    os.replace(beside, folder / "data" / READY)


def is_ready(folder: Path) -> bool:
    """Whether `prepare` came to its end here; its last file is written last."""
    return (folder / "data" / READY).is_file() and (folder / "data" / "train").is_dir()


def digests(data: TextData) -> dict[str, str]:
    """SHA-256 of each text file by the name of its setting: the same text may lie elsewhere later."""
    return {name: digest(path) for name, path in data if isinstance(path, Path)}


@dataclass(frozen=True)
class Texts:
    """Training, validation and test text, before anything is done with it."""

    train: Iterable[Pair]
    valid: list[Pair] | None
    tests: dict[str, list[Pair]]
    where: str


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
    test = _optional(data.test_source, data.test_target, data.test_pairs, data.swap)
    return Texts(train, valid, {"test": test} if test else {}, " and ".join(str(path) for path in train.files))


def languages(data: TextData) -> tuple[str | None, str | None]:
    """The languages of what is read and what is said."""
    named = (data.source_language, data.target_language)
    return (named[1], named[0]) if data.swap else named


def _generated(name: str, seed: int) -> Texts:
    if name != "dates":
        raise ValueError(f"there is no generator '{name}'; there is: dates")
    from regard.text import dates

    tests: dict[str, list[Pair]] = {
        "test": list(dates.pairs("test", 1)),
        "held_out": list(dates.pairs("held_out", 1)),
    }
    return Texts(list(dates.pairs("train", seed)), list(dates.pairs("valid", seed)), tests, "dates")


def _optional(source: Path | None, target: Path | None, pairs: Path | None, swap: bool) -> list[Pair] | None:
    if source is None and target is None and pairs is None:
        return None
    found = PairSource(source, target, pairs, swap, more=True)
    kept = list(found)
    if not kept:
        raise BadText(f"{found.where(1)}: there is no line. Give a file with one sentence a line.")
    return kept


def _held_out(train: Iterable[Pair], most: int) -> Iterator[Pair]:
    """Lines spread evenly over the text, none of them empty: at most `most`, at most a tenth."""
    count = sum(1 for _ in _with_text(train))
    wanted = max(1, min(most, count // 10))
    return (
        pair
        for number, pair in enumerate(_with_text(train))
        if (number * wanted + count // 2) % count < wanted  # so many, a like way apart
    )


def _with_text(pairs: Iterable[Pair]) -> Iterator[Pair]:
    return (pair for pair in pairs if pair[1].strip() and pair[2].strip())


@dataclass(frozen=True)
class _Without:
    """Pairs but those whose source is held out, wherever it occurs."""

    pairs: Iterable[Pair]
    held: set[str]

    def __iter__(self) -> Iterator[Pair]:
        return (pair for pair in self.pairs if pair[1] not in self.held)


def _pieces(data: TextData, folder: Path, train: Iterable[Pair], threads: int, say: Say) -> tuple[Pieces, Pieces]:
    """Learn pieces of both sides together, or of each by itself."""
    source, target = folder / "source.model", folder / "target.model"
    if data.joint:
        both = (text for _, source_text, target_text in train for text in (source_text, target_text))
        found = Pieces.train(both, data.pieces, source, threads)
        target.unlink(missing_ok=True)
        learned = [found]
    else:
        learned = [
            Pieces.train((pair[1] for pair in train), data.pieces, source, threads),
            Pieces.train((pair[2] for pair in train), data.pieces, target, threads),
        ]
    for pieces in learned:
        if len(pieces) < data.pieces:
            say(f"the text has only {len(pieces):,} pieces, not the {data.pieces:,} asked for")
    return learned[0], learned[-1]


def _same_pieces(older: Older, folder: Path) -> tuple[Pieces, Pieces]:
    """The older run's pieces: nothing is unknown to them, since what has no piece is spelt in bytes."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(older.folder / "pieces", folder)
    source, target = folder / "source.model", folder / "target.model"
    return Pieces.load(source), Pieces.load(target if target.exists() else source)


def _keep(path: Path, pairs: Iterable[Pair]) -> None:
    path.write_text("".join(json.dumps(pair, ensure_ascii=False) + "\n" for pair in pairs), encoding="utf-8")


def _kept(path: Path) -> list[Pair]:
    with path.open(encoding="utf-8", newline="\n") as file:
        return [tuple(json.loads(line)) for line in file]
