"""Whether another engine says what our model says: the same words, chosen one by one, and as good a score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import sacrebleu
import torch

from regard.export.sentences import Sentences
from regard.models.seq2seq import Seq2Seq
from regard.search.lines import limits
from regard.search.settings import Search
from regard.tasks.decode import hypotheses
from regard.text.pieces import Pieces

Ids = Sequence[int]


class Engine(Protocol):
    """Another program with our model in it."""

    name: str

    def greedy(self, rows: Sequence[Ids], most: Sequence[int]) -> list[list[int]]:
        """The likeliest word each time, for each row of source pieces, at most so many; without the end."""


class Differs(ValueError):
    """The other engine does not say what the model says: the export is not kept."""


@dataclass(frozen=True)
class Bar:
    """What must be reached: this share of sentences word for word the same, and no more BLEU apart."""

    same: float
    bleu: float


@dataclass(frozen=True)
class Outcome:
    """How far both agree."""

    engine: str
    where: str
    sentences: int
    same: int
    left_out: int
    """Longer than the model was trained on."""
    bleu: tuple[float, float] | None
    """Of the model and of the engine, both greedy, where there are references."""
    example: tuple[str, str, str] | None
    """A sentence of which they say different things: source, the model's, the engine's."""

    @property
    def share(self) -> float:
        """Of sentences that are word for word the same."""
        return self.same / max(1, self.sentences)

    def lines(self) -> list[str]:
        """What there is to say."""
        told = [
            f"{self.same:,} of {self.sentences:,} sentences ({100 * self.share:.4g} %) of {self.where} are word for "
            f"word the same with {self.engine}, choosing the likeliest word each time"
        ]
        if self.left_out:
            told.append(f"{self.left_out:,} longer than the model was trained on were left out")
        if self.bleu is not None:
            told.append(f"BLEU {self.bleu[0]:.2f} with regard, {self.bleu[1]:.2f} with {self.engine}")
        return told

    def as_json(self) -> dict[str, Any]:
        """The same for programs."""
        bleu = None if self.bleu is None else {"regard": round(self.bleu[0], 4), "engine": round(self.bleu[1], 4)}
        return {"engine": self.engine, "text": self.where, "sentences": self.sentences, "same": self.same,
                "share": self.share, "left out": self.left_out, "greedy bleu": bleu}  # fmt: skip

    def judge(self, bar: Bar) -> None:
        """Raise unless the bar is reached."""
        wrong = []
        if self.share < bar.same:
            wrong.append(
                f"only {self.same:,} of {self.sentences:,} sentences are the same ({100 * bar.same:g} % asked)"
            )
        if self.bleu is not None and abs(self.bleu[0] - self.bleu[1]) > bar.bleu:
            wrong.append(
                f"BLEU is {self.bleu[0]:.2f} here and {self.bleu[1]:.2f} there (at most {bar.bleu:g} apart asked)"
            )
        if wrong:
            shown = "" if self.example is None else "; of '{}' one says '{}', the other '{}'".format(*self.example)
            raise Differs(
                f"with {self.engine} the model says something else, so the export was not kept: "
                f"{' and '.join(wrong)}{shown}; try another --quantization, or lower the bar with --same and --bleu"
            )


def compared(
    engine: Engine, model: Seq2Seq, source: Pieces, target: Pieces, texts: Sentences, search: Search, longest: int,
    scored: str,
) -> Outcome:  # fmt: skip
    """The model and the engine on the same sentences."""
    rows = source.encode(texts.sources)
    kept = [n for n, row in enumerate(rows) if 0 < len(row) <= longest]
    ids = [np.asarray(rows[n], np.int64) for n in kept]
    greedy = search.model_copy(update={"beam": 1, "nbest": 1, "sample": False, "diversity": 0.0, "no_repeat": 0})
    most = limits(model, torch.tensor([len(row) for row in ids]), greedy) if ids else []
    ours = [list(found[0].words) for found in hypotheses(model.eval(), ids, greedy)]
    theirs = engine.greedy([row.tolist() for row in ids], most)
    said = [target.decode(words) for words in (ours, theirs)]
    different = [n for n, (one, other) in enumerate(zip(ours, theirs, strict=True)) if one != other]
    example = None
    if different:
        n = different[0]
        example = (texts.sources[kept[n]], said[0][n], said[1][n])
    bleu = None
    if texts.references is not None and kept:
        right = [[texts.references[n] for n in kept]]
        bleu = (_bleu(said[0], right, scored), _bleu(said[1], right, scored))
    same = len(ours) - len(different)
    return Outcome(engine.name, texts.where, len(ours), same, len(rows) - len(kept), bleu, example)


def _bleu(said: Sequence[str], right: list[list[str]], scored: str) -> float:
    return float(sacrebleu.corpus_bleu(list(said), right, tokenize=scored, force=True).score)
