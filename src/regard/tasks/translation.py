"""Text to text: pairs, a sequence-to-sequence model, the loss of the right words, and a measure of what is said."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import cast

import numpy as np
from torch import nn

from regard.models.build import build_model
from regard.models.seq2seq import Seq2Seq
from regard.models.settings import ModelSettings
from regard.search.settings import Search
from regard.tasks.decode import translate
from regard.tasks.measures import Bleu, Measure
from regard.tasks.parallel_text import Pair, ParallelText, TextSource, line_of
from regard.tasks.sequences import Batch, batch_of, sequence_loss
from regard.tasks.task import Loss, Task
from regard.text.batch import plan
from regard.text.broken import Breaking
from regard.text.ids import PAD
from regard.text.noise import noise_at

SAMPLES = 8  # sentences shown beside their reference
SIDES = ("source", "target")
AT_ONCE = 100_000  # pairs whose pieces are broken together, to see how long they will be


class Translation(Task):
    """From one language to another, or from any sequence of symbols to another; `measure` says how it is judged."""

    drawn_by = "saying:pictured"

    def __init__(
        self,
        origin: TextSource,
        model: ModelSettings,
        search: Search,
        batch_tokens: int,
        smoothing: float,
        device: str = "cpu",
        measure: Measure | None = None,
        agreement: float = 0.0,
    ) -> None:
        self.origin, self.model, self.search = origin, model, search
        self.batch_tokens, self.smoothing, self.device = batch_tokens, smoothing, device
        self.agreement = agreement
        self.by = measure or Bleu(origin.data.scored)
        self.best_by, self.best_is_highest = self.by.best_by, self.by.best_is_highest
        self.text: ParallelText

    def prepare(self, folder: Path) -> None:
        self.text = self.origin.prepare(folder)

    def build(self) -> Seq2Seq:
        return build_model(self.model, len(self.text.source), len(self.text.target))

    def batches(self, epoch: int) -> Sequence[np.ndarray]:
        """Numbers of pairs. Where pieces are broken, those of the next epoch go on where the last one's ended."""
        corpus, seed = self.text.train, self.origin.seed
        if self.breaking is None:
            return plan(corpus.source_lengths, corpus.target_lengths, self.batch_tokens, seed, epoch)
        source, target = (
            np.concatenate([broken.lengths(*self._unbroken(side, some)) for some in self._stretches(epoch)])
            for side, broken in self.breaking.items()
        )
        planned = plan(source, target, self.batch_tokens, seed, epoch)
        return replace(planned, order=planned.order.astype(np.int64) + epoch * len(corpus))

    def load(self, which: np.ndarray) -> Batch:
        source, target = (self._rows(side, which) for side in SIDES)
        return batch_of(source, target, self.device)

    def _rows(self, side: str, which: np.ndarray) -> list[np.ndarray]:
        if self.breaking is None:
            return self.text.train.rows(side, which)
        return self.breaking[side](*self._unbroken(side, which))

    @cached_property
    def breaking(self) -> dict[str, Breaking] | None:
        """What breaks pieces of either side, where it is wanted."""
        chance = self.origin.data.broken
        if chance == 0:
            return None
        return {"source": Breaking(self.text.source, chance), "target": Breaking(self.text.target, chance)}

    def _unbroken(self, side: str, which: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Texts, and keys of how each is broken: they belong to its number, and so are others in every epoch."""
        return self.text.train.rows(side, self._pairs(which)), noise_at(which, self.origin.seed, SIDES.index(side))

    def _stretches(self, epoch: int) -> Iterator[np.ndarray]:
        """The numbers of an epoch's pairs, some at a time: all of a large corpus would not fit the memory."""
        count = len(self.text.train)
        for first in range(0, count, AT_ONCE):
            yield np.arange(first, min(count, first + AT_ONCE)) + epoch * count

    def _pairs(self, which: np.ndarray) -> np.ndarray:
        """Where they stand in the corpus."""
        return which % len(self.text.train)

    def units(self, which: np.ndarray) -> int:
        """Pieces of the target, unbroken: a loss for each of them counts all that it was broken into."""
        return int(self.text.train.target_lengths[self._pairs(which)].sum()) + len(which)

    def loss(self, model: nn.Module, batch: Batch, player: str) -> Loss:
        return sequence_loss(cast(Seq2Seq, model), batch, self.smoothing, self.agreement)

    def about(self) -> str:
        return f"{len(self.text.train):,} pairs, {len(self.text.source):,} pieces"

    def files(self) -> list[str]:
        return sorted(f"pieces/{path.name}" for path in (self.text.folder / "pieces").glob("*.model"))

    def blocks(self, model: nn.Module) -> Sequence[nn.Module]:
        return cast(Seq2Seq, model).blocks()

    def split(self, which: np.ndarray, parts: int = 2) -> Sequence[np.ndarray]:
        return np.array_split(which, min(parts, len(which)))

    def where(self, which: np.ndarray) -> str:
        lines = sorted(self.text.train.line(int(i)) for i in self._pairs(which))
        shown = ", ".join(map(line_of, lines[:20])) + (f" and {len(lines) - 20} more" if len(lines) > 20 else "")
        return f"{self.text.where}: line{'s' if len(lines) > 1 else ''} {shown}"

    def measure(self, model: nn.Module) -> dict[str, float]:
        """Loss and perplexity of the references, and the measure of greedy translations."""
        seq2seq, pairs = cast(Seq2Seq, model), self.text.valid
        loss = self._likelihood(seq2seq, pairs)
        greedy = self.search.model_copy(update={"beam": 1})
        return {"loss": loss, "perplexity": math.exp(min(loss, 100)), **self.scores(seq2seq, pairs, greedy)}

    def final(self, model: nn.Module) -> dict[str, dict[str, float]]:
        return {
            name: self.scores(cast(Seq2Seq, model), pairs, self.search) for name, pairs in self.text.tests.items()
        }

    def scores(self, model: Seq2Seq, pairs: Sequence[Pair], search: Search) -> dict[str, float]:
        """How near the translations come to the references."""
        sources = [source for _, source, _ in pairs]
        said = self.translations(model, sources, search)
        return self.by.scores(sources, said, [target for _, _, target in pairs])

    def translations(self, model: Seq2Seq, texts: Sequence[str], search: Search) -> list[str]:
        """The best translation of each text."""
        found = translate(model, self.text.source, self.text.target, texts, search)
        return [translated.text for translated in found]

    def samples(self, model: nn.Module) -> str:
        pairs = self.text.valid[:SAMPLES]
        said = self.translations(cast(Seq2Seq, model), [source for _, source, _ in pairs], self.search)
        shown = zip(pairs, said, strict=True)
        return "\n".join(f"{source}\n  = {target}\n  > {text}" for (_, source, target), text in shown) + "\n"

    def _likelihood(self, model: Seq2Seq, pairs: Sequence[Pair]) -> float:
        """Negative log-likelihood per target piece; a source without a piece says nothing about it."""
        pairs = [pair for pair in pairs if pair[1]]
        sources = [np.array(row, np.int64) for row in self.text.source.encode([pair[1] for pair in pairs])]
        targets = [np.array(row, np.int64) for row in self.text.target.encode([pair[2] for pair in pairs])]
        source_lengths, target_lengths = (np.array([len(row) for row in rows]) for rows in (sources, targets))
        total, count = 0.0, 0
        for which in plan(source_lengths, target_lengths, self.batch_tokens, 0, 0):
            batch = batch_of([sources[i] for i in which], [targets[i] for i in which], self.device)
            total += sequence_loss(model, batch, 0.0).figures["loss"]
            count += int((batch.after != PAD).sum())
        return total / max(1, count)
