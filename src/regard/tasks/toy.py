"""A toy language: a fixed dictionary and a fixed rule of order, so every answer and every link is known.

Words are numbers. Each is translated by the dictionary; an *adjective* goes behind the word that follows it. `drift`
also puts a filler word after every so many, so that target places run ahead of source places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import torch
from torch import nn

from regard.models.build import build_model
from regard.models.seq2seq import Seq2Seq
from regard.models.settings import ModelSettings
from regard.search.beam import search
from regard.search.settings import Search
from regard.tasks.sequences import Batch, batch_of, sequence_loss
from regard.tasks.task import Loss, Task

FIRST = 4  # ids below are padding, unknown, START and END


@dataclass(frozen=True)
class Sentence:
    """A source, its one right translation, and which source word each target word came from."""

    source: np.ndarray
    target: np.ndarray
    links: np.ndarray


@dataclass(frozen=True)
class Language:
    """`words` words; every third is an adjective; the dictionary comes from the seed."""

    words: int = 60
    drift: int = 0
    """A filler after every so many words; 0 = none."""
    seed: int = 0

    @property
    def vocabulary(self) -> int:
        return self.words + FIRST + 1

    def translate(self, source: np.ndarray) -> Sentence:
        """By the dictionary and the rule: the exact answer."""
        dictionary = FIRST + np.random.default_rng(self.seed).permutation(self.words)
        order, at = [], 0
        while at < len(source):
            swapped = source[at] % 3 == 0 and at + 1 < len(source)
            order += [at + 1, at] if swapped else [at]
            at += 2 if swapped else 1
        target, links = [], []
        for number, place in enumerate(order):
            target.append(int(dictionary[source[place] - FIRST]))
            links.append(place)
            if self.drift and number % self.drift == self.drift - 1:
                target.append(FIRST + self.words)
                links.append(place)
        return Sentence(source, np.array(target), np.array(links))

    def sentences(self, count: int, low: int, high: int, seed: int) -> list[Sentence]:
        """Random sentences of `low ... high` words."""
        rng = np.random.default_rng(seed)
        lengths = rng.integers(low, high + 1, count)
        return [self.translate(rng.integers(FIRST, FIRST + self.words, length)) for length in lengths]


class Sentences(Protocol):
    """Whatever has sentences to draw, and a vocabulary for them."""

    @property
    def vocabulary(self) -> int:
        """How many words there are, with the special ones."""

    def sentences(self, count: int, low: int, high: int, seed: int) -> list[Sentence]:
        """Random sentences of `low ... high` words."""


Build = Callable[[int], Seq2Seq]
"""A fresh model for so many words."""


def _built(settings: ModelSettings, words: int) -> Seq2Seq:
    return build_model(settings, words, words)


class ToyTranslation(Task):
    """Translate a toy language; fresh sentences every epoch."""

    best_by, best_is_highest = "exact", True

    def __init__(
        self, language: Sentences, model: ModelSettings | Build, low: int, high: int, rows: int = 64, seed: int = 1
    ) -> None:
        self.language, self.low, self.high, self.rows, self.seed = language, low, high, rows, seed
        self.model: Build = model if callable(model) else partial(_built, model)

    def prepare(self, folder: Path) -> None:
        """Nothing: sentences are made as they are needed."""

    def build(self) -> Seq2Seq:
        return self.model(self.language.vocabulary)

    def batches(self, epoch: int) -> Sequence[list[Sentence]]:
        made = self.language.sentences(self.rows * 50, self.low, self.high, 1_000_003 * self.seed + epoch)
        made.sort(key=lambda sentence: len(sentence.source))
        order = np.random.default_rng((self.seed, epoch)).permutation(50)
        return [made[at * self.rows : (at + 1) * self.rows] for at in order]

    def load(self, which: list[Sentence]) -> Batch:
        return batch_of([s.source for s in which], [s.target for s in which])

    def units(self, which: list[Sentence]) -> int:
        return sum(len(sentence.target) + 1 for sentence in which)

    def loss(self, model: nn.Module, batch: Batch, player: str) -> Loss:
        return sequence_loss(cast(Seq2Seq, model), batch, 0.0)

    def split(self, which: list[Sentence], parts: int = 2) -> Sequence[list[Sentence]]:
        parts = min(parts, len(which))
        cuts = [len(which) * part // parts for part in range(parts + 1)]
        return [which[first:after] for first, after in pairwise(cuts)]

    def where(self, which: list[Sentence]) -> str:
        return f"{len(which)} generated sentences of up to {len(which[-1].source)} words"

    def measure(self, model: nn.Module) -> dict[str, float]:
        said = self.said(cast(Seq2Seq, model), held := self.language.sentences(200, self.low, self.high, 2**31))
        return {"exact": float(np.mean([list(s.target) == words for s, words in zip(held, said, strict=True)]))}

    def said(self, model: Seq2Seq, sentences: Sequence[Sentence]) -> list[list[int]]:
        """Greedy translations."""
        batch = batch_of([s.source for s in sentences], [s.target for s in sentences])
        settings = Search(beam=1, longest_ratio=1.5, longest_extra=10)
        with torch.no_grad():
            return [list(found[0].words) for found in search(model, batch.source, batch.lengths, settings)]
