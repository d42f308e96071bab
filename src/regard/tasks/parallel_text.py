"""Making ready what a translator is trained on: read, check, learn pieces, write numbers. Needs no torch."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from regard.tasks.kept import Kept, times
from regard.tasks.settings import TextData
from regard.tasks.texts import Pair, languages, texts_of
from regard.text.check import Report, report
from regard.text.corpus import Corpus
from regard.text.encode import Encoder, Limits
from regard.text.pace import Paced
from regard.text.pieces import Pieces
from regard.text.read import BadText, digest

Say = Callable[[str], None]

__all__ = ["Older", "Pair", "ParallelText", "Say", "TextSource", "is_ready", "line_of", "prepare"]

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
        source, target = _learned(folder / "pieces")
        told = json.loads((folder / "data" / READY).read_text(encoding="utf-8"))
        return cls(
            folder,
            source,
            target,
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

    def many(self, new: int) -> int:
        """How many old pairs are this share of everything, or all there are; none if the text is gone."""
        text = self.folder / "data" / "train"
        if self.share <= 0 or not text.is_dir():
            return 0
        return min(len(Corpus.open(text)), round(new * self.share / (1 - self.share)))

    def some(self, new: int) -> Iterator[Pair]:
        """So many old pairs, spread evenly."""
        wanted = self.many(new)
        if wanted == 0:
            return
        old = ParallelText.open(self.folder)
        for number in range(wanted):
            at = number * len(old.train) // wanted
            source = old.source.decode([old.train.source(at).tolist()])
            target = old.target.decode([old.train.target(at).tolist()])
            yield -abs(old.train.line(at)), source[0], target[0]  # below 0: a line of the old text


def line_of(number: int) -> str:
    """A line of the training text, for people."""
    return str(number) if number > 0 else f"{-number} of the old text"


@dataclass(frozen=True)
class TextSource:
    """Where the text of a run comes from, and how it is made ready."""

    data: TextData
    seed: int = 1
    threads: int = 1
    say: Say = print
    older: Older | None = None

    def prepare(self, folder: Path) -> ParallelText:
        """The text in this folder, made ready if it is not."""
        prepare(self.data, folder, self.seed, self.threads, self.say, self.older)
        return ParallelText.open(folder)


def prepare(data: TextData, folder: Path, seed: int, threads: int, say: Say, older: Older | None = None) -> None:
    """Everything that training needs, in this order; what is there already is not made again."""
    if is_ready(folder):
        return
    (folder / "data").mkdir(parents=True, exist_ok=True)
    (folder / "data" / READY).unlink(missing_ok=True)
    texts = texts_of(data, seed)
    seen, files = times(texts.files), digests(data)
    valid = texts.valid if texts.valid is not None else list(_held_out(texts.train, data.hold_out))
    if texts.valid is None:
        say(f"no validation text given: {len(valid):,} training lines are held out for it")
    held = {source for _, source, _ in valid} if texts.valid is None else set()
    train = _Train(_Without(texts.train, held), texts.length, say)
    text = {name: files.get(name) for name in ("source", "target", "pairs")}
    kept = Kept.of([text, data.columns, data.swap, sorted(held)], texts.length, seen, say)
    found = _reported(data, folder, train, kept)
    if found.pairs == 0:
        raise BadText(
            f"{texts.where}: nothing is left to learn from: {len(valid):,} lines were held out. Give more text, or "
            "validation text of its own with --data.valid-source F --data.valid-target F."
        )
    if older is None:
        _pieces(data, folder / "pieces", train, threads, kept, say)
        everything: Iterable[Pair] = train.while_("numbering the text")
    else:
        _same_pieces(older, folder / "pieces")
        kept = replace(kept, cache=None)  # of another run's text nothing is known here
        say(f"{older.many(found.pairs):,} pairs of the old text are mixed in, so that it is not forgotten")
        everything = chain(train.while_("numbering the text"), older.some(found.pairs))
    corpus = _numbered(data, folder, everything, threads, kept, say)
    _keep(folder / "data" / "valid.jsonl", valid)
    for name, pairs in texts.tests.items():
        _keep(folder / "data" / f"{name}.jsonl", pairs)
    ready = {"where": texts.where, "files": files, "pairs": len(corpus), "tests": list(texts.tests),
             "report": found.as_dict()}  # fmt: skip
    _write(folder / "data" / READY, json.dumps(ready, indent=1))


@dataclass(frozen=True)
class _Train:
    """The training pairs, read several times, and each time it is said how far it is."""

    pairs: Iterable[Pair]
    length: int | None
    say: Say

    def while_(self, doing: str) -> Paced:
        return Paced(self.pairs, self.length, doing, self.say)


def _reported(data: TextData, folder: Path, train: _Train, kept: Kept) -> Report:
    """What the text is like, said, whether it was looked at now or before."""
    to = folder / "data" / "train.report"

    def make() -> None:
        found = report(train.while_("looking at the text"), *languages(data))
        to.mkdir(exist_ok=True)
        _write(to / "report.json", json.dumps(found.as_dict(), indent=1))

    kept.once("data report", languages(data), to, make)
    found = Report.from_dict(json.loads((to / "report.json").read_text(encoding="utf-8")))
    shutil.rmtree(to)
    for line in found.lines:
        train.say(line)
    return found


def _numbered(data: TextData, folder: Path, pairs: Iterable[Pair], processes: int, kept: Kept, say: Say) -> Corpus:
    """The text as numbers, and what was left out of it, said."""
    to, (source, target) = folder / "data" / "train", _learned(folder / "pieces")

    def make() -> None:
        Corpus.build(to, pairs, Encoder(source, target, Limits(data.longest, data.ratio)), processes=processes)

    settings = [source.fingerprint, target.fingerprint, data.longest, data.ratio]
    kept.once("text as numbers", settings, to, make)
    corpus = Corpus.open(to)
    for reason, left in corpus.skipped.items():
        some_lines = ", ".join(map(line_of, left["lines"])) + (", ..." if left["count"] > len(left["lines"]) else "")
        say(f"left out: {left['count']:,} pairs, {reason} (line {some_lines})")
    return corpus


def _write(path: Path, text: str) -> None:
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, path)


def is_ready(folder: Path) -> bool:
    """Whether `prepare` came to its end here; its last file is written last."""
    return (folder / "data" / READY).is_file() and (folder / "data" / "train").is_dir()


def digests(data: TextData) -> dict[str, str]:
    """SHA-256 of each text file by the name of its setting: the same text may lie elsewhere later."""
    return {name: digest(path) for name, path in data if isinstance(path, Path)}


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


def _pieces(data: TextData, folder: Path, train: _Train, threads: int, kept: Kept, say: Say) -> None:
    """Learn pieces of both sides together, or of each by itself."""
    source, target = folder / "source.model", folder / "target.model"
    pairs = train.while_("reading for pieces")

    def make() -> None:
        target.unlink(missing_ok=True)
        if data.joint:
            both = (text for _, source_text, target_text in pairs for text in (source_text, target_text))
            Pieces.train(both, data.pieces, source, threads, spelling=data.spelling)
        else:
            other = data.target_spelling or data.spelling
            Pieces.train((pair[1] for pair in pairs), data.pieces, source, threads, spelling=data.spelling)
            Pieces.train((pair[2] for pair in pairs), data.pieces, target, threads, spelling=other)

    kept.once("pieces", [data.pieces, data.joint, data.spelling, data.target_spelling], folder, make)
    for path in (source, target):
        if data.spelling == "bpe" and path.exists() and (count := len(Pieces.load(path))) < data.pieces:
            say(f"the text has only {count:,} pieces, not the {data.pieces:,} asked for")


def _same_pieces(older: Older, folder: Path) -> None:
    """The older run's pieces: nothing is unknown to them, since what has no piece is spelt in bytes."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(older.folder / "pieces", folder)


def _learned(folder: Path, threads: int = 0) -> tuple[Pieces, Pieces]:
    """The pieces of both sides, often the same."""
    source, path = Pieces.load(folder / "source.model", threads), folder / "target.model"
    return source, Pieces.load(path, threads) if path.exists() else source


def _keep(path: Path, pairs: Iterable[Pair]) -> None:
    path.write_text("".join(json.dumps(pair, ensure_ascii=False) + "\n" for pair in pairs), encoding="utf-8")


def _kept(path: Path) -> list[Pair]:
    with path.open(encoding="utf-8", newline="\n") as file:
        return [tuple(json.loads(line)) for line in file]
