"""Text in, text out: the search over a batch of sentences, in the order they came."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch

from regard.models.products import Turned
from regard.models.seq2seq import Searchable, Seq2Seq
from regard.models.swift import Swift
from regard.search.beam import Hypothesis, search
from regard.search.settings import Search
from regard.search.steady import together, whole_blocks
from regard.search.wishes import Wish
from regard.text.batch import padded
from regard.text.pieces import Pieces

ROWS = 64  # hypotheses that are worth a group of their own
SHARES = 2  # groups of each worker where products take most of the time: who had the easier one takes another


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
    model: Searchable, ids: Sequence[np.ndarray], settings: Search, wishes: Sequence[Wish] | None = None
) -> list[list[Hypothesis]]:
    """Of each sentence, best first, in the order they came; none for an empty one.

    Like lengths are searched together. On a CPU in float32, what a sentence gets does not depend on its company.
    """
    found: list[list[Hypothesis]] = [[] for _ in ids]
    device = next(model.parameters()).device
    width = settings.nbest if settings.sample else settings.beam

    def one_group(rows: list[int]) -> None:
        batch = torch.from_numpy(padded([ids[row] for row in rows])).to(device)
        lengths = torch.tensor([len(ids[row]) for row in rows], device=device)
        asked = None if wishes is None else [wishes[row] for row in rows]
        for row, answer in zip(rows, search(model, batch, lengths, settings, asked), strict=True):
            found[row] = answer

    (workers, shares), budget = _side_by_side(model, ids, width), settings.batch_tokens // width or 1
    if workers > 1:
        budget = max(1, min(budget, -(-sum(whole_blocks(len(row), None) for row in ids) // shares)))
    _each(one_group, _groups(ids, budget), workers)
    return found


def _side_by_side(model: Searchable, ids: Sequence[np.ndarray], width: int) -> tuple[int, int]:
    """How many search side by side, and how many groups they share, each with rows enough.

    Small products gain more by that than by threads. Only where a search of one thread is known to find the same as
    one of several (see `regard.search.steady`). Several groups each even out, but a small model's are over too soon.
    """
    threads = torch.get_num_threads()
    count = sum(len(row) > 0 for row in ids) * width // ROWS
    with torch.no_grad():
        stepper = model.stepper() if threads > 1 and count > 1 else None
    if not isinstance(stepper, Swift):
        return 1, 1
    workers = min(threads, count)
    return workers, workers if stepper.form is Turned else min(SHARES * workers, count)


def _each(work: Callable[[list[int]], None], groups: Sequence[list[int]], workers: int) -> None:
    """All of it, by so many at a time, each with a thread of its own and no other."""
    if workers == 1:
        for group in groups:
            work(group)
        return
    threads = torch.get_num_threads()
    pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))
    try:
        for _ in pool.map(work, groups):
            pass
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)


def _groups(ids: Sequence[np.ndarray], budget: int) -> list[list[int]]:
    """Rows of like length, as many at a time as the budget allows."""
    order = sorted((row for row in range(len(ids)) if len(ids[row])), key=lambda row: (-len(ids[row]), row))
    groups: list[list[int]] = []
    for row in order:
        longest = len(ids[groups[-1][0]]) if groups else 0
        fits = bool(groups) and (len(groups[-1]) + 1) * whole_blocks(longest, None) <= budget
        if fits and together(longest, len(ids[row])):
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups
