"""Copying: texts in, summaries out, for a model that says its own words and those of the text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from regard.attend.coverage import looked_twice
from regard.models.copying import Copying, Told, build_copying
from regard.models.settings import CopyingModel
from regard.search.settings import Search
from regard.tasks.decode import hypotheses
from regard.tasks.rouge import common, repeated, rouge
from regard.tasks.sequences import Batch, batch_of
from regard.tasks.summaries import Summaries
from regard.tasks.task import Loss, Task
from regard.text.articles import Article
from regard.text.ids import PAD
from regard.text.words import Text

SAMPLES = 5  # summaries shown beside the right ones


class CopyingTask(Task):
    """Learn to summarise; words that nobody knows are copied."""

    drawn_by, looked_by = "copying:pictured", "copying:looks"
    best_by, best_is_highest = "rouge1", True

    def __init__(self, origin: Summaries, model: CopyingModel, search: Search, device: str = "cpu") -> None:
        self.origin, self.model, self.search, self.device = origin, model, search, device

    def prepare(self, folder: Path) -> None:
        self.origin.prepare(folder)

    def build(self) -> Copying:
        return build_copying(self.model, len(self.origin.words))

    def about(self) -> str:
        return self.origin.about()

    def files(self) -> list[str]:
        return self.origin.files()

    def batches(self, epoch: int) -> Sequence[Any]:
        return self.origin.batches(epoch)

    def load(self, which: Any) -> Batch:
        return self.batch(self.origin.load(which))

    def units(self, which: Any) -> int:
        return self.origin.units(which)

    def split(self, which: Any, parts: int = 2) -> Sequence[Any]:
        return self.origin.split(which, parts)

    def where(self, which: Any) -> str:
        return self.origin.where(which)

    def batch(self, some: Sequence[Article]) -> Batch:
        """Texts with the first summary of each, as tensors."""
        words = self.origin.words
        sources = [words.source(article.text) for article in some]
        targets = [words.target(article.summaries[0], article.text) for article in some]
        return batch_of(sources, targets, self.device)

    def loss(self, model: nn.Module, batch: Batch, player: str) -> Loss:
        """For each text the mean over its summary's words of -log P(w) + λ Σ min(a, c) (eq. 7 and 13)."""
        copying = cast(Copying, model)
        told = copying.told(batch.source, batch.lengths, batch.before)
        real = (batch.after != PAD).float()
        real = real / real.sum(1, keepdim=True)
        likelihood = -(copying.likelihood(told, batch.source, batch.after) * real).sum()
        twice = (looked_twice(told.weights) * real).sum()
        total = likelihood + self.model.coverage * twice if copying.covers else likelihood
        return Loss(total, {"loss": float(likelihood.detach()), "looked_twice": float(twice.detach())})

    def measure(self, model: nn.Module) -> dict[str, float]:
        greedy = self.search.model_copy(update={"beam": 1})
        return self.scores(cast(Copying, model), self.origin.valid(), greedy)

    def final(self, model: nn.Module) -> dict[str, dict[str, float]]:
        tests = self.origin.tests().items()
        return {name: self.scores(cast(Copying, model), some, self.search) for name, some in tests}

    def scores(self, model: Copying, some: Sequence[Article], search: Search) -> dict[str, float]:
        """ROUGE in per cent, and shares: of exact summaries, unknown words copied right, trigrams said again."""
        said = self.summaries(model, [article.text for article in some], search)
        pairs = list(zip(said, some, strict=True))
        found = [rouge(ours, article.summaries) for ours, article in pairs]
        copied = np.array([self.copied(ours, article) for ours, article in pairs]).sum(0)
        own, unknown = self.own_share(model, some)
        return {
            **{name: 100 * float(np.mean([one[name] for one in found])) for name in found[0]},
            "exact": float(np.mean([self.origin.is_right(ours, article) for ours, article in pairs])),
            "copied": float(copied[0] / copied[1]) if copied[1] else float("nan"),
            "repeated": repeated(said),
            "p_gen": own,
            "p_gen, unknown": unknown,
        }

    def copied(self, said: Text, article: Article) -> tuple[int, int]:
        """Of the unknown words that should be copied: how many were said, in their order, and how many there are."""
        known, there = self.origin.words, set(article.text)
        ours, right = (
            [word for word in text if word not in known and word in there] for text in (said, article.summaries[0])
        )
        return common(ours, right), len(right)

    def own_share(self, model: Copying, some: Sequence[Article]) -> tuple[float, float]:
        """The mean of p_gen where the right summary has a known word, and where it has one that must be copied."""
        own: list[Tensor] = []
        temporary: list[Tensor] = []
        for first in range(0, len(some), 64):
            batch = self.batch(some[first : first + 64])
            told = model.told(batch.source, batch.lengths, batch.before)
            real = batch.after != PAD
            own.append(told.own[real])
            temporary.append((batch.after >= len(self.origin.words))[real])
        share, copied = torch.cat(own), torch.cat(temporary)
        return float(share[~copied].mean()), float(share[copied].mean())

    def summaries(self, model: Copying, texts: Sequence[Text], search: Search) -> list[Text]:
        """The best summary of each text."""
        words = self.origin.words
        found = hypotheses(model, [words.source(text) for text in texts], search)
        return [words.said(best[0].words, text) for best, text in zip(found, texts, strict=True)]

    def told(self, model: Copying, text: Text, summary: Text) -> Told:
        """What the model did at each word of a summary of its own, its end among them."""
        batch = self.batch([Article(text, (summary,))])
        return model.told(batch.source, batch.lengths, batch.before)

    def samples(self, model: nn.Module) -> str:
        some = self.origin.valid()[:SAMPLES]
        said = self.summaries(cast(Copying, model), [article.text for article in some], self.search)
        shown = zip(some, said, strict=True)
        return "".join(
            f"{' '.join(article.text)}\n  = {' '.join(article.summaries[0])}\n  > {' '.join(ours)}\n"
            for article, ours in shown
        )
