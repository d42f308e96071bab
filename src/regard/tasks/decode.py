"""Text in, text out: the search over a batch of sentences, in the order they came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from regard.models.seq2seq import Seq2Seq
from regard.search.beam import Hypothesis, search
from regard.search.settings import Search
from regard.search.steady import whole_blocks
from regard.search.wishes import Wish
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
    """Translate sentences; an empty one stays empty."""
    ids = [np.asarray(row, dtype=np.int64) for row in source.encode(list(texts))]
    empty = Hypothesis((), 0.0, 0.0)
    best = [found[0] if found else empty for found in hypotheses(model, ids, settings)]
    spoken = target.decode([hypothesis.words for hypothesis in best])
    return [Translated(text, hypothesis) for text, hypothesis in zip(spoken, best, strict=True)]


def hypotheses(
    model: Seq2Seq, ids: Sequence[np.ndarray], settings: Search, wishes: Sequence[Wish] | None = None
) -> list[list[Hypothesis]]:
    """Of each sentence, best first, in the order they came; none for an empty one.

    Like lengths are searched together. On a CPU in float32, what a sentence gets does not depend on its company.
    """
    found: list[list[Hypothesis]] = [[] for _ in ids]
    device = next(model.parameters()).device
    width = settings.nbest if settings.sample else settings.beam
    for rows in _groups(ids, settings.batch_tokens // width or 1):
        batch = torch.from_numpy(padded([ids[row] for row in rows])).to(device)
        lengths = torch.tensor([len(ids[row]) for row in rows], device=device)
        asked = None if wishes is None else [wishes[row] for row in rows]
        for row, answer in zip(rows, search(model, batch, lengths, settings, asked), strict=True):
            found[row] = answer
    return found


def _groups(ids: Sequence[np.ndarray], budget: int) -> list[list[int]]:
    """Rows of like length, as many at a time as the budget allows."""
    order = sorted((row for row in range(len(ids)) if len(ids[row])), key=lambda row: (-len(ids[row]), row))
    groups: list[list[int]] = []
    for row in order:
        if groups and (len(groups[-1]) + 1) * whole_blocks(len(ids[groups[-1][0]]), None) <= budget:
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups
