"""Text in, text out: the search over a batch of sentences, in the order they came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from regard.models.seq2seq import Seq2Seq
from regard.search.beam import Hypothesis, search
from regard.search.settings import Search
from regard.text.batch import padded
from regard.text.pieces import Pieces


@dataclass(frozen=True)
class Translated:
    """One translation: its text, and the hypothesis it came from."""

    text: str
    best: Hypothesis


def translate(
    model: Seq2Seq, source: Pieces, target: Pieces, texts: Sequence[str], settings: Search
) -> list[Translated]:
    """Translate sentences; like lengths are searched together, and an empty one stays empty."""
    ids = [np.asarray(row, dtype=np.int64) for row in source.encode(list(texts))]
    found: dict[int, Hypothesis] = {}
    device = next(model.parameters()).device
    for rows in _groups(ids, settings.batch_tokens // settings.beam or 1):
        batch = torch.from_numpy(padded([ids[row] for row in rows])).to(device)
        lengths = torch.tensor([len(ids[row]) for row in rows], device=device)
        for row, hypotheses in zip(rows, search(model, batch, lengths, settings), strict=True):
            found[row] = hypotheses[0]
    empty = Hypothesis((), 0.0, 0.0)
    best = [found.get(row, empty) for row in range(len(ids))]
    spoken = target.decode([hypothesis.words for hypothesis in best])
    return [Translated(text, hypothesis) for text, hypothesis in zip(spoken, best, strict=True)]


def _groups(ids: Sequence[np.ndarray], budget: int) -> list[list[int]]:
    """Rows of like length, as many at a time as the budget allows."""
    order = sorted((row for row in range(len(ids)) if len(ids[row])), key=lambda row: (-len(ids[row]), row))
    groups: list[list[int]] = []
    for row in order:
        if groups and (len(groups[-1]) + 1) * len(ids[groups[-1][0]]) <= budget:
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups
