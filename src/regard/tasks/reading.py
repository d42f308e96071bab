"""Reading: guess every next word of a text, or what stood far back; the measure is perplexity."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.models.reading import LanguageModel, build_reader
from regard.models.sequence_settings import ReaderModel
from regard.tasks.drawn import Endless, Some
from regard.tasks.passages import (
    Passages,
    Recall,
    RunningText,
    Source,
    Split,
    read_vocabulary,
    vocabulary_of,
)
from regard.tasks.sequence_settings import ReadingData
from regard.tasks.task import Loss
from regard.text.lines import lines
from regard.text.places import located

VOCABULARY = "vocabulary.txt"


@dataclass(frozen=True)
class Read:
    """Passages as tensors; 0 where no word is asked for."""

    before: Int[Tensor, "b t"]
    after: Int[Tensor, "b t"]


class Reading(Endless):
    """Learn to guess the next word."""

    drawn_by, looked_by = "learning:read", "looks:reading"
    examples = "rows"
    best_by, best_is_highest = "perplexity", False

    def __init__(self, data: ReadingData, model: ReaderModel, smoothing: float, seed: int) -> None:
        super().__init__(data.rows, seed)
        self.data, self.model, self.smoothing = data, model, smoothing
        self.source: Source | None = None if data.text is not None else recall_of(data, seed)

    def prepare(self, folder: Path) -> None:
        """Count the words of the text, once; the vocabulary stays beside the model."""
        data = self.data
        if data.text is None:
            return
        file = folder / VOCABULARY
        if not file.is_file():
            words = vocabulary_of(lines(located(data.text)), data.unit, data.vocabulary)
            beside = file.with_name(f".{file.name}.new")
            beside.write_text("\n".join(words) + "\n", encoding="utf-8")
            os.replace(beside, file)
        files: dict[Split, Path | None] = {"train": data.text, "valid": data.valid_text, "test": data.test_text}
        self.source = RunningText(files, read_vocabulary(file), data.unit, data.window, data.rows, self.seed)

    @property
    def passages(self) -> Source:
        """Where passages come from, once it was made ready."""
        if self.source is None:
            raise ValueError("the text was not made ready; call prepare(folder) first")
        return self.source

    def files(self) -> list[str]:
        return [VOCABULARY] if self.data.text is not None else []

    def build(self) -> LanguageModel:
        return build_reader(self.model, len(self.passages.vocabulary))

    def about(self) -> str:
        data, words = self.data, len(self.passages.vocabulary)
        if data.text is None:
            return f"fresh questions about {data.facts} names, asked {data.distance} words later"
        return f"{data.text.name}, {words:,} {data.unit} told apart, read {data.window} at a time"

    def batches(self, epoch: int) -> Sequence[Some]:
        return [Some(epoch, number, 0, self.data.rows) for number in range(self.passages.batches(epoch))]

    def load(self, which: Some) -> Read:
        found = self.passages.batch(which.epoch, which.batch)
        return read(found, which.first, which.after)

    def units(self, which: Some) -> int:
        asked = 1 if self.data.text is None else self.data.window
        return which.count * asked

    def loss(self, model: nn.Module, batch: Read, player: str) -> Loss:
        """Nats of surprise, summed over the words asked for."""
        scores, right = asked_for(cast(LanguageModel, model), batch)
        plain = F.cross_entropy(scores, right, reduction="sum")
        total = plain
        if self.smoothing:
            total = F.cross_entropy(scores, right, reduction="sum", label_smoothing=self.smoothing)
        return Loss(total, {"loss": float(plain.detach())})

    def measure(self, model: nn.Module) -> dict[str, float]:
        return self.scores(cast(LanguageModel, model), "valid")

    def final(self, model: nn.Module) -> dict[str, dict[str, float]]:
        split: Split = "test" if self.passages.held_out("test") is not None else "valid"
        return {split: self.scores(cast(LanguageModel, model), split)}

    def scores(self, model: LanguageModel, split: Split) -> dict[str, float]:
        """Perplexity of the words asked for, and the share that was the likeliest guess."""
        found = self.passages.held_out(split)
        assert found is not None
        nats, right, count = 0.0, 0, 0
        for first in range(0, len(found.before), 64):
            scores, words = asked_for(model, read(found, first, first + 64))
            nats += float(F.cross_entropy(scores, words, reduction="sum"))
            right += int((scores.argmax(-1) == words).sum())
            count += len(words)
        return {"loss": nats / count, "perplexity": math.exp(nats / count), "right": right / count}

    def samples(self, model: nn.Module) -> str:
        """The first held-out windows, with the likeliest guess where another word stood."""
        found, words = self.passages.held_out("valid"), self.passages.vocabulary
        assert found is not None
        some = read(found, 0, 2)
        guessed = cast(LanguageModel, model)(some.before).argmax(-1)
        told = []
        for guesses, right in zip(guessed.tolist(), some.after.tolist(), strict=True):
            pairs = [(words[a], words[b]) for a, b in zip(guesses, right, strict=True) if b]
            told.append(" ".join(b if a == b else f"{b}[{a}]" for a, b in pairs))
        return "\n".join(told) + "\n"


def recall_of(data: ReadingData, seed: int) -> Recall:
    """The generator that settings without a text describe."""
    return Recall(data.facts, data.values, data.distance, data.rows, data.held_out_rows, seed)


def read(found: Passages, first: int, after: int) -> Read:
    """Some of the passages, as tensors."""
    return Read(torch.from_numpy(found.before[first:after]), torch.from_numpy(found.after[first:after]))


def asked_for(model: LanguageModel, batch: Read) -> tuple[Tensor, Tensor]:
    """Scores where a word is asked for, and the words."""
    asked = batch.after > 0
    return model(batch.before)[asked], batch.after[asked]
