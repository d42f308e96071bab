"""The `[data]` sections of recipes."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from regard.settings import Data

Spelling = Literal["bpe", "characters", "words", "tagged"]


class TextData(Data):
    """Parallel text: two files with one sentence a line, one file of tab-separated pairs, or a generator."""

    trained_on: ClassVar[frozenset[str]] = frozenset({"source", "target", "pairs", "generated"})
    held_out: ClassVar[frozenset[str]] = frozenset(
        f"{split}_{side}" for split in ("valid", "test") for side in ("source", "target", "pairs")
    )

    source: Path | None = None
    """Text to translate from, one sentence a line; .gz is read everywhere."""
    target: Path | None = None
    """Its translation, line by line."""
    pairs: Path | None = None
    """Both in one file: source, tab, target."""
    generated: str | None = None
    """A generator instead of files: dates, arithmetic, trees or questions."""
    columns: Literal["pair", "pronunciations", "inflections"] = "pair"
    """What a line of `pairs` has: source and target; a word and how it sounds; a lemma, its features and a form."""
    valid_source: Path | None = None
    """Held-out text to choose the best model by; without it some of the training lines are held out."""
    valid_target: Path | None = None
    """Its translation."""
    valid_pairs: Path | None = None
    """Held-out pairs in one file."""
    test_source: Path | None = None
    """Text scored once, at the end."""
    test_target: Path | None = None
    """Its translation."""
    test_pairs: Path | None = None
    """Pairs scored once, at the end."""
    source_language: str | None = None
    """Code of the source language, such as en: for the model card and the hints of the data report."""
    target_language: str | None = None
    """Code of the target language."""
    swap: bool = False
    """Translate the other way: target to source."""
    pieces: int = Field(8000, ge=300, le=1_000_000)
    """Size of the vocabulary, at most (sentencepiece with byte fallback)."""
    spelling: Spelling = "bpe"
    """What pieces are: learned sub-words; characters; words; or characters and, whole, words such as case=DAT."""
    target_spelling: Spelling | None = None
    """The same of the target, where it is another; then `joint` is false."""
    joint: bool = True
    """One vocabulary for both sides."""
    broken: float = Field(0.0, ge=0, lt=1)
    """Chance of a piece to be broken in two while training, so that words are seen in several spellings."""
    longest: int = Field(256, ge=1, le=1_000_000)
    """Pairs with a side of more pieces are left out, and counted."""
    ratio: float = Field(9.0, gt=1)
    """Pairs of which one side has this many times the other's pieces are left out, and counted."""
    hold_out: int = Field(1000, ge=1)
    """Lines held out where there are no validation files, at most a tenth."""
    scored: Literal["13a", "none", "intl", "char", "zh", "ja-mecab", "ko-mecab"] = "13a"
    """How sacreBLEU splits words: none for text that is tokenised already."""


class PointData(Data):
    """Problems made of points, drawn from a seed and solved exactly."""

    held_out: ClassVar[frozenset[str]] = frozenset({"test_problems"})

    problem: Literal["hull", "sort", "tour", "delaunay"] = "hull"
    """Convex hull, numbers from the smallest to the largest, shortest round trip, Delaunay triangulation."""
    smallest: int = Field(5, ge=3, le=100)
    """The fewest points of a problem ..."""
    largest: int = Field(5, ge=3, le=100)
    """... and the most."""
    tested: tuple[int, ...] = ()
    """Other sizes that are tested at the end, unseen in training."""
    test_problems: Path | None = None
    """Problems tested too: lines `x y x y … output 1 2 …`, or a list `name : best length` of TSPLIB's files."""
    rows: int = Field(128, ge=1, le=100_000)
    """Problems in a batch, all of one size."""
    held_out_rows: int = Field(2000, ge=1, le=1_000_000)
    """Problems of each size that are tested at the end."""


class TapeData(Data):
    """Sequences of bits, drawn from a seed, with an exact rule (Graves, Wayne & Danihelka 2014, section 4)."""

    problem: Literal["copy", "repeat", "recall", "ngrams", "priority"] = "copy"
    """Say it again; so many times; what followed an item; the next bit of a random language; the highest in order."""
    bits: int = Field(8, ge=1, le=64)
    """Bits shown at a step."""
    context: int = Field(5, ge=1, le=10)
    """n-grams: how many bits before it the next one depends on."""
    smallest: int = Field(1, ge=1, le=1000)
    """The smallest size: steps of a sequence, or its items ..."""
    largest: int = Field(20, ge=1, le=1000)
    """... and the largest."""
    tested: tuple[int, ...] = ()
    """Other sizes that are tested at the end, unseen in training."""
    rows: int = Field(32, ge=1, le=100_000)
    """Sequences in a batch, all of one size."""
    held_out_rows: int = Field(200, ge=1, le=1_000_000)
    """Sequences of each size that are tested at the end."""


class ArticleData(Data):
    """Texts with their summaries: from files of JSON lines, or invented."""

    trained_on: ClassVar[frozenset[str]] = frozenset({"articles", "generated"})
    held_out: ClassVar[frozenset[str]] = frozenset({"test_articles"})

    articles: Path | None = None
    """A line for each text: an object with its source and one or more targets, each a text or a list of sentences."""
    test_articles: Path | None = None
    """The same, scored once, at the end; all targets of a text count as references."""
    generated: Literal["news", "digest"] | None = None
    """Invented news instead of files, with one sentence that matters, or several."""
    words: int = Field(50_000, ge=10, le=10_000_000)
    """Words of the vocabulary; all others can only be copied."""
    longest: int = Field(400, ge=1, le=100_000)
    """Words that are read of a text."""
    longest_summary: int = Field(100, ge=1, le=100_000)
    """Words that are learned of a summary."""
    hold_out: int = Field(100, ge=1)
    """Texts held out of the files to choose the best model by, at most a tenth."""
    smallest: int = Field(3, ge=1, le=1000)
    """The fewest sentences of an invented text ..."""
    largest: int = Field(6, ge=1, le=1000)
    """... and the most."""
    tested: tuple[int, ...] = ()
    """Other sizes that are tested at the end, unseen in training."""
    rows: int = Field(32, ge=1, le=100_000)
    """Texts in a batch."""
    held_out_rows: int = Field(200, ge=1, le=1_000_000)
    """Invented texts of each size that are tested at the end."""
