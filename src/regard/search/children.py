"""Which hypotheses go on: the best of all children, or the best of those that fulfil as much of a wish."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.search.lines import Lines, best
from regard.search.settings import Search
from regard.search.wishes import Wish
from regard.text.ids import END


@dataclass(frozen=True)
class Children:
    """Hypotheses one word longer, best first: their scores, whose children they are, and by which word."""

    scores: Float[np.ndarray, "s c"]
    origin: Int[np.ndarray, "s c"]
    word: Int[np.ndarray, "s c"]
    said: Float[np.ndarray, "s c"]
    """The log-probability of that word."""

    def gather(self, order: Int[np.ndarray, "s c2"]) -> Children:
        """In this order."""
        rows = np.arange(len(order))[:, np.newaxis]
        return Children(*(x[rows, order] for x in (self.scores, self.origin, self.word, self.said)))


@dataclass(frozen=True)
class Step:
    """What children are chosen from: hypotheses, and every next word as the model says it and as it may be said."""

    scores: Float[np.ndarray, "s w"]
    raw: Float[Tensor, "r v"]
    log_probs: Float[Tensor, "r v"]
    lines: Lines
    wishes: Sequence[Wish]
    rooms: Sequence[int]
    """How many words each sentence may still say."""


Choose = Callable[[Step, Search], Children]
"""Twice as many children as the beam is wide."""


def by_score(step: Step, settings: Search) -> Children:
    """The best of all children of a sentence; those of one parent at a disadvantage, if that is asked for."""
    sentences, width = step.scores.shape
    scores, log_probs = torch.from_numpy(step.scores).to(step.log_probs.device), step.log_probs
    count, block = min(2 * settings.beam, log_probs.shape[1]), _block(log_probs.shape[1])
    if not settings.diversity and block and log_probs.shape[1] // block >= count:
        return _best_blocks(scores, log_probs, count, block)
    said, word = best(log_probs, count)
    total = (scores.reshape(-1, 1) + said).view(sentences, width * count)
    preferred = total
    if settings.diversity:
        preferred = total - settings.diversity * torch.arange(count, device=said.device).repeat(width)
    index = preferred.topk(min(2 * settings.beam, width * count), 1).indices
    said, word = (x.view(sentences, width * count).gather(1, index) for x in (said, word))
    return Children(*(x.cpu().numpy() for x in (total.gather(1, index), index // count, word, said)))


def _best_blocks(scores: Float[Tensor, "s w"], log_probs: Float[Tensor, "r v"], count: int, block: int) -> Children:
    """The same by looking first for the blocks of words that hold them, by the largest in each."""
    sentences, blocks = len(scores), log_probs.shape[1] // block
    largest = log_probs.view(sentences, -1, blocks, block).amax(3).add_(scores.unsqueeze(2)).flatten(1)
    where = largest.topk(count, 1).indices  # which of a sentence's blocks
    start = torch.arange(0, largest.numel(), largest.shape[1], device=where.device).unsqueeze(1)
    near = log_probs.view(-1, block).index_select(0, (where + start).flatten()).view(sentences, count, block)
    total, index = (near + scores.gather(1, where // blocks).unsqueeze(2)).flatten(1).topk(count, 1)
    said = near.flatten(1).gather(1, index)
    value, place, inside, each = (x.cpu().numpy() for x in (total, where, index, said))
    chosen = place[np.arange(sentences)[:, np.newaxis], inside // block]
    return Children(value, chosen // blocks, chosen % blocks * block + inside % block, each)


@cache
def _block(words: int) -> int:
    """In blocks of how many a vocabulary falls evenly; 0 where there is no good size."""
    sizes = [size for size in range(32, 129) if words % size == 0]
    return min(sizes, key=lambda size: (size % 16 > 0, abs(size - 64)), default=0)


def by_bank(step: Step, settings: Search) -> Children:
    """In turn the best of those that have said most of their phrases, the next most, and so on. Post & Vilar 2018.

    Words that begin a phrase or go on with it are always among the candidates. None ends before all phrases are said,
    and none goes on that could not say them any more: so all are said, if there is room for them.
    """
    said, words = best(step.log_probs, min(2 * settings.beam, step.log_probs.shape[1]))
    values, likely, texts = said.tolist(), words.tolist(), step.lines.words[:, 1:].tolist()
    scores = step.scores
    chosen = []
    for place, (wish, room) in enumerate(zip(step.wishes, step.rooms, strict=True)):
        found: list[_Child] = []
        for line, before in enumerate(scores[place].tolist()):
            row = place * scores.shape[1] + line
            if before > -float("inf"):
                ways = dict(zip(likely[row], values[row], strict=True))
                if len(texts[row]) >= len(wish.prefix):
                    ways |= {word: float(step.raw[row, word]) for word in wish.ways_on(texts[row])}
                found += _children(before, line, texts[row], ways, wish, room)
        chosen.append(_in_turn(found, settings.beam))
    columns = zip(*(zip(*row, strict=True) for row in chosen), strict=True)
    value, origin, word, each = (np.array(list(column)) for column in columns)
    return Children(value.astype(np.float32), origin, word, each.astype(np.float32))


_Child = tuple[tuple[float, int, int, float], int]  # score, origin, word, its log-probability; pieces met


def _children(
    before: float, line: int, text: list[int], ways: dict[int, float], wish: Wish, room: int
) -> list[_Child]:
    found: list[_Child] = []
    pieces = sum(map(len, wish.phrases))
    for word, value in ways.items():
        if word == END:
            met = wish.met(text)
            if met < pieces or value == -float("inf"):
                continue
        else:
            met = wish.met([*text, word])
            if len(text) >= len(wish.prefix) and pieces - met > max(0, room - 1):
                continue
        found.append(((before + value, line, word, value), met))
    return found


def _in_turn(found: list[_Child], beam: int) -> list[tuple[float, int, int, float]]:
    """The ended ones, then of each bank in turn its best, until there are enough; then such as count nothing."""
    found = sorted(found, key=lambda child: (-child[0][0], child[0][1:3]))
    ended = [child for child, _ in found if child[2] == END][:beam]
    banks: dict[int, list[tuple[float, int, int, float]]] = {}
    for child, met in found:
        if child[2] != END:
            banks.setdefault(met, []).append(child)
    going: list[tuple[float, int, int, float]] = []
    for turn in range(beam):
        going += [banks[met][turn] for met in sorted(banks, reverse=True) if turn < len(banks[met])]
    going = sorted(going[:beam], key=lambda child: -child[0])
    nothing = (-float("inf"), 0, END, -float("inf"))
    return (ended + going + [nothing] * 2 * beam)[: 2 * beam]
