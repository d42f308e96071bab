"""Where texts and their summaries come from: files, or a generator that draws them as they are needed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from regard.tasks.drawn import BATCHES, HELD_OUT, Some
from regard.tasks.news import draw, is_right, known_words
from regard.tasks.settings import ArticleData
from regard.text.articles import Article, articles
from regard.text.batch import plan
from regard.text.places import located
from regard.text.words import Text, Words

CHOSEN_BY = 96  # invented texts that the best model is chosen by
VOCABULARY = "pieces/words.txt"


class Summaries(ABC):
    """Articles to learn from and to be tested on, and the words that are known."""

    words: Words

    @abstractmethod
    def prepare(self, folder: Path) -> None:
        """Learn the vocabulary, or find it in the folder."""

    @abstractmethod
    def batches(self, epoch: int) -> Sequence[Any]:
        """What to train on in this epoch, in order."""

    @abstractmethod
    def load(self, which: Any) -> list[Article]:
        """The articles of one batch."""

    @abstractmethod
    def units(self, which: Any) -> int:
        """How many they are."""

    @abstractmethod
    def split(self, which: Any, parts: int) -> Sequence[Any]:
        """So many smaller batches."""

    @abstractmethod
    def where(self, which: Any) -> str:
        """Where they come from, for people."""

    @abstractmethod
    def about(self) -> str:
        """How many there are, in a few words."""

    @abstractmethod
    def valid(self) -> list[Article]:
        """What the best model is chosen by."""

    @abstractmethod
    def tests(self) -> dict[str, list[Article]]:
        """What nothing is chosen by."""

    def is_right(self, said: Text, article: Article) -> bool:
        """Whether this is a right summary, word for word."""
        return said in article.summaries

    def files(self) -> list[str]:
        """What belongs to the model, as names in the run folder."""
        return []


class Invented(Summaries):
    """News that never happened; fresh ones every epoch."""

    def __init__(self, data: ArticleData, seed: int) -> None:
        assert data.generated is not None
        self.data, self.problem, self.seed = data, data.generated, seed
        self.words = Words(known_words())

    def prepare(self, folder: Path) -> None:
        """Nothing: the words are those of the templates."""

    def batches(self, epoch: int) -> Sequence[Some]:
        return [Some(epoch, batch, 0, self.data.rows) for batch in range(BATCHES)]

    def load(self, which: Some) -> list[Article]:
        return self._drawn((self.seed, which.epoch, which.batch), self.data.rows)[which.first : which.after]

    def units(self, which: Some) -> int:
        return which.after - which.first

    def split(self, which: Some, parts: int) -> Sequence[Some]:
        return which.split(parts)

    def where(self, which: Some) -> str:
        return f"batch {which.batch} of epoch {which.epoch}, texts {which.first} to {which.after - 1}"

    def about(self) -> str:
        data = self.data
        return f"invented texts ({self.problem}) of {data.smallest} to {data.largest} sentences, {data.rows} a batch"

    def valid(self) -> list[Article]:
        return self._drawn((HELD_OUT,), CHOSEN_BY)

    def is_right(self, said: Text, article: Article) -> bool:
        return is_right(said, article.text)

    def tests(self) -> dict[str, list[Article]]:
        sizes = sorted({self.data.smallest, self.data.largest, *self.data.tested})
        return {f"sentences={size}": self.of_size(size, self.data.held_out_rows) for size in sizes}

    def of_size(self, size: int, count: int) -> list[Article]:
        """Unseen texts of one size."""
        rng = np.random.default_rng((HELD_OUT, size))
        return [draw(rng, self.problem, size) for _ in range(count)]

    def _drawn(self, seed: Sequence[int], count: int) -> list[Article]:
        rng = np.random.default_rng(seed)
        sizes = rng.integers(self.data.smallest, self.data.largest + 1, count).tolist()
        return [draw(rng, self.problem, size) for size in sizes]


class Filed(Summaries):
    """Articles of files; of several summaries each is learned by itself. Some are held out to choose the model by."""

    def __init__(self, data: ArticleData, seed: int, batch_tokens: int) -> None:
        self.data, self.seed, self.batch_tokens = data, seed, batch_tokens

    def prepare(self, folder: Path) -> None:
        file = folder / VOCABULARY
        if not file.is_file():
            known = self._train
            texts = (text for article in known for text in (article.text, *article.summaries))
            Words.of(texts, self.data.words).write(file)
        self.words = Words.read(file)

    def batches(self, epoch: int) -> Sequence[np.ndarray]:
        texts, summaries = self._lengths
        return plan(texts, summaries, self.batch_tokens, self.seed, epoch)

    def load(self, which: np.ndarray) -> list[Article]:
        return [self._train[number] for number in which.tolist()]

    def units(self, which: np.ndarray) -> int:
        return len(which)

    def split(self, which: np.ndarray, parts: int) -> Sequence[np.ndarray]:
        return np.array_split(which, min(parts, len(which)))

    def where(self, which: np.ndarray) -> str:
        return f"{self.data.articles}: {len(which)} texts, such as number {int(which[0])} of those learned from"

    def about(self) -> str:
        return f"{len(self._train):,} texts with their summaries, {len(self.words):,} words"

    def valid(self) -> list[Article]:
        return self._parts[1]

    def tests(self) -> dict[str, list[Article]]:
        return {} if self.data.test_articles is None else {"test": self._read(self.data.test_articles)}

    def files(self) -> list[str]:
        return [VOCABULARY]

    @property
    def _train(self) -> list[Article]:
        return self._parts[0]

    @cached_property
    def _parts(self) -> tuple[list[Article], list[Article]]:
        """What is learned from, and what is held out: texts spread evenly over the file."""
        assert self.data.articles is not None
        found = self._read(self.data.articles)
        wanted = max(1, min(self.data.hold_out, len(found) // 10))
        if len(found) < 2:
            raise ValueError(f"{self.data.articles} has {len(found)} texts; give at least two, to learn and to test")
        out = {number for number in range(len(found)) if (number * wanted + len(found) // 2) % len(found) < wanted}
        train = [
            Article(one.text, (summary,)) for n, one in enumerate(found) if n not in out for summary in one.summaries
        ]
        return train, [found[number] for number in sorted(out)]

    @cached_property
    def _lengths(self) -> tuple[np.ndarray, np.ndarray]:
        counts = np.array([(len(one.text), len(one.summaries[0])) for one in self._train], np.int32)
        return counts[:, 0], counts[:, 1]

    def _read(self, path: Path) -> list[Article]:
        return list(articles(located(path), self.data.longest, self.data.longest_summary))
