"""The `[data]` sections of systems that read step by step: language models, few-shot learners, bandits."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from regard.settings import Data


class ReadingData(Data):
    """Running text to guess the next word of; without any, questions about what stood far back are made."""

    trained_on: ClassVar[frozenset[str]] = frozenset({"text"})
    held_out: ClassVar[frozenset[str]] = frozenset({"valid_text", "test_text"})

    text: Path | None = None
    """Text to learn from; .gz is read everywhere. Without it, generated questions."""
    valid_text: Path | None = None
    """Held-out text to choose the best model by; without it the last twentieth of the text."""
    test_text: Path | None = None
    """Text measured once, at the end."""
    unit: Literal["words", "characters"] = "words"
    """What is guessed: words between spaces, or characters."""
    vocabulary: int = Field(5000, ge=2, le=1_000_000)
    """The most frequent ones that are told apart; others are one unknown word."""
    window: int = Field(50, ge=2, le=10_000)
    """Words read in one go; nothing is remembered from the window before."""
    rows: int = Field(32, ge=1, le=100_000)
    """Windows, or questions, in a batch."""
    facts: int = Field(4, ge=1, le=100)
    """Generated: names that are given a value each, of which one is asked for ..."""
    values: int = Field(16, ge=2, le=1000)
    """... among so many values ..."""
    distance: int = Field(40, ge=0, le=1000)
    """... after so many words that mean nothing."""
    held_out_rows: int = Field(2000, ge=1, le=1_000_000)
    """Generated questions that are measured at the end."""


class FewShotData(Data):
    """Characters of alphabets, in episodes: some with their names, then one to be named."""

    trained_on: ClassVar[frozenset[str]] = frozenset({"characters"})
    held_out: ClassVar[frozenset[str]] = frozenset({"test_characters"})

    characters: Path | None = None
    """Images to learn from, as Omniglot's .npz; without it, characters are made of random strokes."""
    test_characters: Path | None = None
    """Images of other alphabets, measured once, at the end."""
    side: int = Field(15, ge=5, le=105)
    """Pixels a side that images are averaged down to; a divisor of 105 does it exactly."""
    ways: int = Field(5, ge=2, le=100)
    """Characters to choose among in an episode ..."""
    shots: int = Field(1, ge=1, le=20)
    """... and images shown of each, at most: while training it is 1 to so many."""
    queries: int = Field(5, ge=1, le=100)
    """Images asked about in an episode, each by itself."""
    rotations: bool = True
    """Turn whole characters by quarters while training: each turn is a character of its own."""
    held_out_alphabets: int = Field(5, ge=1, le=100)
    """Alphabets of the training images that the best model is chosen by."""
    rows: int = Field(16, ge=1, le=100_000)
    """Episodes in a batch."""
    held_out_rows: int = Field(1000, ge=1, le=1_000_000)
    """Episodes measured at the end."""


class BanditData(Data):
    """Arms that pay with chances of their own, new in every game."""

    arms: int = Field(5, ge=2, le=100)
    """Arms to pull ..."""
    pulls: int = Field(10, ge=1, le=1000)
    """... so many times."""
    teacher: Literal["pay", "gittins"] = "pay"
    """What is learned from: what pulls paid, by the policy gradient, or what Gittins' index would have pulled."""
    rows: int = Field(256, ge=1, le=100_000)
    """Games in a batch."""
    held_out_rows: int = Field(10_000, ge=1, le=1_000_000)
    """Games measured at the end."""
