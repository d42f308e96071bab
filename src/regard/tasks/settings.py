"""The `[data]` section of a translator's recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from regard.settings import Section


class TextData(Section):
    """Parallel text: two files with one sentence a line, one file of tab-separated pairs, or a generator."""

    source: Path | None = None
    """Text to translate from, one sentence a line; .gz is read everywhere."""
    target: Path | None = None
    """Its translation, line by line."""
    pairs: Path | None = None
    """Both in one file: source, tab, target."""
    generated: str | None = None
    """A generator instead of files: dates."""
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
    """Size of the vocabulary (sentencepiece BPE with byte fallback)."""
    joint: bool = True
    """One vocabulary for both sides."""
    longest: int = Field(256, ge=1, le=1_000_000)
    """Pairs with a side of more pieces are left out, and counted."""
    ratio: float = Field(9.0, gt=1)
    """Pairs of which one side has this many times the other's pieces are left out, and counted."""
    hold_out: int = Field(1000, ge=1)
    """Lines held out where there are no validation files, at most a tenth."""
    scored: Literal["13a", "none", "intl", "char", "zh", "ja-mecab", "ko-mecab"] = "13a"
    """How sacreBLEU splits words: none for text that is tokenised already."""
