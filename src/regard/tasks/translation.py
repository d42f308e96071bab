"""Translation: parallel text, a sequence-to-sequence model, the loss of the right words, BLEU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import sacrebleu
import torch
from jaxtyping import Int
from torch import Tensor, nn

from regard.models.build import build_model
from regard.models.seq2seq import END, PAD, START, Seq2Seq
from regard.models.settings import ModelSettings
from regard.search.settings import Search
from regard.tasks.cross_entropy import cross_entropy
from regard.tasks.decode import translate
from regard.tasks.parallel_text import Older, Pair, ParallelText, Say, line_of, prepare
from regard.tasks.settings import TextData
from regard.tasks.task import Loss, Task
from regard.text.batch import padded, plan

SAMPLES = 8  # sentences shown beside their reference


@dataclass(frozen=True)
class Batch:
    """Pairs as tensors: what is read, what was said before each word, and the word."""

    source: Int[Tensor, "b s"]
    lengths: Int[Tensor, " b"]
    before: Int[Tensor, "b t"]
    after: Int[Tensor, "b t"]


class Translation(Task):
    """From one language to another."""

    best_by, best_is_highest = "bleu", True

    def __init__(
        self,
        data: TextData,
        model: ModelSettings,
        search: Search,
        batch_tokens: int,
        smoothing: float,
        seed: int,
        threads: int = 1,
        say: Say = print,
        older: Older | None = None,
        device: str = "cpu",
    ) -> None:
        self.data, self.model, self.search = data, model, search
        self.batch_tokens, self.smoothing, self.seed, self.device = batch_tokens, smoothing, seed, device
        self.threads, self.say, self.older = threads, say, older
        self.text: ParallelText

    def prepare(self, folder: Path) -> None:
        prepare(self.data, folder, self.seed, self.threads, self.say, self.older)
        self.text = ParallelText.open(folder)

    def build(self) -> Seq2Seq:
        return build_model(self.model, len(self.text.source), len(self.text.target))

    def batches(self, epoch: int) -> Sequence[np.ndarray]:
        corpus = self.text.train
        return plan(corpus.source_lengths, corpus.target_lengths, self.batch_tokens, self.seed, epoch)

    def load(self, which: np.ndarray) -> Batch:
        corpus = self.text.train
        return self._batch([corpus.source(i) for i in which], [corpus.target(i) for i in which])

    def units(self, which: np.ndarray) -> int:
        return int(self.text.train.target_lengths[which].sum()) + len(which)

    def loss(self, model: nn.Module, batch: Batch, player: str) -> Loss:
        return self._loss(cast(Seq2Seq, model), batch, self.smoothing)

    def _loss(self, model: Seq2Seq, batch: Batch, smoothing: float) -> Loss:
        states = model.states(batch.source, batch.lengths, batch.before)
        words = batch.after.flatten()
        real = words.nonzero().squeeze(1)  # padding is 0
        rows = states.flatten(0, 1)
        if len(real) < len(words):
            rows, words = rows.index_select(0, real), words[real]
        smoothed, likelihood = cross_entropy(rows, model.output.weight, words, smoothing)
        return Loss(smoothed, {"loss": float(likelihood), "smoothed": float(smoothed.detach())})

    def split(self, which: np.ndarray) -> Sequence[np.ndarray]:
        return [which] if len(which) < 2 else np.array_split(which, 2)

    def where(self, which: np.ndarray) -> str:
        lines = sorted(self.text.train.line(int(i)) for i in which)
        shown = ", ".join(map(line_of, lines[:20])) + (f" and {len(lines) - 20} more" if len(lines) > 20 else "")
        return f"{self.text.where}: line{'s' if len(lines) > 1 else ''} {shown}"

    def measure(self, model: nn.Module) -> dict[str, float]:
        """Loss and perplexity of the references, and BLEU, chrF and exact share of greedy translations."""
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
        said = self.translations(model, [source for _, source, _ in pairs], search)
        right = [target for _, _, target in pairs]
        bleu = sacrebleu.corpus_bleu(said, [right], tokenize=self.data.scored, force=True)
        chrf = sacrebleu.corpus_chrf(said, [right], word_order=2)
        exact = sum(a == b for a, b in zip(said, right, strict=True)) / max(1, len(right))
        return {"bleu": bleu.score, "chrf": chrf.score, "exact": exact}

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
            batch = self._batch([sources[i] for i in which], [targets[i] for i in which])
            total += self._loss(model, batch, 0.0).figures["loss"]
            count += int((batch.after != PAD).sum())
        return total / max(1, count)

    def _batch(self, sources: Sequence[np.ndarray], targets: Sequence[np.ndarray]) -> Batch:
        """Padding is 0 on both sides; START goes before what is said, END after it."""
        before = padded([np.concatenate(([START], row)) for row in targets])
        after = padded([np.concatenate((row, [END])) for row in targets])
        lengths = torch.tensor([len(row) for row in sources])
        tensors = (torch.from_numpy(padded(sources)), lengths, torch.from_numpy(before), torch.from_numpy(after))
        return Batch(*(tensor.to(self.device) for tensor in tensors))
