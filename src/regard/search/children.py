"""Which hypotheses go on: the best of all children, or the best of those that fulfil as much of a wish."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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

    scores: Float[Tensor, "s c"]
    origin: Int[Tensor, "s c"]
    word: Int[Tensor, "s c"]
    said: Float[Tensor, "s c"]
    """The log-probability of that word."""

    def gather(self, order: Int[Tensor, "s c2"]) -> Children:
        """In this order."""
        return Children(*(x.gather(1, order) for x in (self.scores, self.origin, self.word, self.said)))


@dataclass(frozen=True)
class Step:
    """What children are chosen from: hypotheses, and every next word as the model says it and as it may be said."""

    scores: Float[Tensor, "s w"]
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
    said, word = best(step.log_probs, min(2 * settings.beam, step.log_probs.shape[1]))
    count = said.shape[1]
    total = (step.scores.reshape(-1, 1) + said).view(sentences, width * count)
    preferred = total
    if settings.diversity:
        preferred = total - settings.diversity * torch.arange(count, device=said.device).repeat(width)
    index = preferred.topk(min(2 * settings.beam, width * count), 1).indices
    said, word = (x.view(sentences, width * count).gather(1, index) for x in (said, word))
    return Children(total.gather(1, index), index // count, word, said)


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
    value, origin, word, each = (torch.tensor(list(column), device=scores.device) for column in columns)
    return Children(value.float(), origin, word, each.float())


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
