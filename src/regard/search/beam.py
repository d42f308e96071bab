"""One search for every model: hypotheses are extended word by word, and the best are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.models.seq2seq import Lengths, Searchable, Source
from regard.search.children import Children, Choose, Step, by_bank, by_score
from regard.search.guards import Guard, guards, prefixed
from regard.search.lines import Lines, is_a_number, limits
from regard.search.rank import Hypothesis as Hypothesis
from regard.search.rank import penalty, ranked
from regard.search.sample import Draws
from regard.search.settings import Search
from regard.search.steady import steadily
from regard.search.watching import Watcher, grown
from regard.search.wishes import NOTHING, Wish
from regard.text.ids import END


def search(
    model: Searchable, source: Source, lengths: Lengths, settings: Search, wishes: Sequence[Wish] | None = None,
    watcher: Watcher | None = None,
) -> list[list[Hypothesis]]:  # fmt: skip
    """Hypotheses for each row of the source, best first: `nbest` where there are so many, and perhaps more.

    A sentence is done when no live hypothesis can still become one of those wanted: log-probabilities only fall, and
    the length penalty is largest at the limit. Once as many are finished as the beam is wide, a live one must be
    ahead as it is: several poor ones that ended early do not end the search before the best. Beam 1 is greedy.
    A sentence that is given up (see `Wish.wanted`) has none. A watcher is told each step of each.
    """
    wishes = [NOTHING] * len(source) if wishes is None else list(wishes)
    if len(wishes) != len(source):
        raise ValueError(f"{len(wishes)} wishes for {len(source)} sentences; give one for each")
    found: list[list[Hypothesis]] = [[] for _ in wishes]
    with torch.no_grad(), steadily(model, len(source) * settings.beam) as steady:
        for alike, wide in _alike(settings, wishes):
            rows = [row for row in alike if not wishes[row].given_up]
            if not rows:
                continue
            some, sizes, asked = source[rows], lengths[rows], [wishes[row] for row in rows]
            if wide.sample:
                answers = Draws(Lines(model, some, sizes, steady), some, sizes, wide, asked).run()
            else:
                answers = _Beams(Lines(model, some, sizes, steady), sizes, wide, asked, watcher).run()
            for row, answer in zip(rows, answers, strict=True):
                found[row] = answer
    return found


def _alike(settings: Search, wishes: Sequence[Wish]) -> Iterator[tuple[list[int], Search]]:
    """Sentences to be searched together. Phrases need room: a hypothesis more for each of their pieces."""
    widths: dict[int, list[int]] = {}
    for row, wish in enumerate(wishes):
        widths.setdefault(sum(map(len, wish.phrases)), []).append(row)
    for pieces, rows in widths.items():
        if pieces and settings.sample:
            raise ValueError("phrases that must appear cannot be drawn by chance; leave search.sample or them out")
        yield rows, settings.model_copy(update={"beam": settings.beam + pieces})


@dataclass
class _Sentence:
    """What is known of one sentence: its limit, what it wishes, and its finished hypotheses."""

    limit: int
    wish: Wish
    done: bool = False
    finished: list[Hypothesis] = field(default_factory=list)

    def best(self, place: int) -> float:
        """The score at this place of the ranking."""
        scores = sorted((h.score for h in self.finished), reverse=True)
        return scores[place - 1] if len(scores) >= place else -float("inf")


class _Beams:
    """The hypotheses of a batch: `beam` rows a sentence, sentences leaving as they are done."""

    def __init__(
        self, lines: Lines, lengths: Lengths, settings: Search, wishes: Sequence[Wish], watcher: Watcher | None = None
    ) -> None:
        self.lines, self.settings, self.power = lines, settings, settings.length_penalty
        self.asked, self.watcher = wishes, watcher
        most = limits(lines.model, lengths, settings)
        self.all = [_Sentence(limit, wish.fitting(limit)) for limit, wish in zip(most, wishes, strict=True)]
        fill = [_Sentence(1, NOTHING, done=True) for _ in range(len(lines) - len(wishes))]
        self.live = [*self.all, *fill]
        self.scores = np.zeros((len(lines), 1), np.float32)  # sentences × hypotheses each
        self.rules: list[Guard] = guards(settings)
        self.choose: Choose = by_bank if any(sentence.wish.phrases for sentence in self.all) else by_score
        self.wishing = any(wish.prefix or wish.phrases for wish in wishes)
        self.may_leave = any(sentence.wish.wanted is not None for sentence in self.all)

    def run(self) -> list[list[Hypothesis]]:
        length = 0
        while not all(sentence.done for sentence in self.live):
            length += 1
            self._extend(self.lines.next(), length)
            if self.may_leave:
                self._let_go()
        return [self._answer(sentence, wish) for sentence, wish in zip(self.all, self.asked, strict=True)]

    def _let_go(self) -> None:
        """A sentence that nobody waits for any more is done, with nothing found."""
        for sentence in self.live:
            if not sentence.done and sentence.wish.given_up:
                sentence.done, sentence.finished = True, []

    def _answer(self, sentence: _Sentence, wish: Wish) -> list[Hypothesis]:
        found = ranked(sentence.finished)[: self.settings.beam - sum(map(len, wish.phrases))]
        if not wish.phrases:
            return found
        return [Hypothesis(h.words, h.log_prob, h.score, h.complete, h.log_probs, wish.unmet(h.words)) for h in found]

    def _extend(self, log_probs: Float[Tensor, "r v"], length: int) -> None:
        """Every hypothesis by every word; the best go on, those with END are finished."""
        found = self.choose(self._step(log_probs, length), self.settings)
        is_a_number(found.scores)
        ended = (found.word == END) & (found.scores > -np.inf)
        beam = self.settings.beam
        self._finish(ended[:, :beam], found, length)
        order = np.argsort(ended, axis=1, kind="stable")[:, :beam]  # live ones first, still best first
        if self.watcher is not None:
            for place, sentence in enumerate(self.live):
                if not sentence.done:
                    number = next(at for at, one in enumerate(self.all) if one is sentence)
                    self.watcher(grown(number, place, length, found, ended, order))
        found, ended = found.gather(order), np.take_along_axis(ended, order, 1)
        scores = np.where(ended, -np.float32(np.inf), found.scores)
        going = self._going(scores, found, length)
        kept = self.lines.enough(going, scores.shape[1])
        if going:
            self.lines.go_on(kept, found.origin, found.word, found.said)
        self.live, self.scores = [self.live[place] for place in kept], scores[kept]

    def _step(self, log_probs: Float[Tensor, "r v"], length: int) -> Step:
        """What may be said next, as it is wished."""
        words = torch.from_numpy(self.lines.words).to(log_probs.device)
        if not self.wishing:
            for rule in self.rules:
                rule(log_probs, words)
            return Step(self.scores, log_probs, log_probs, self.lines, (), ())
        wishes = [sentence.wish for sentence in self.live]
        rooms = [sentence.limit - length for sentence in self.live]
        raw = log_probs.clone() if self.choose is by_bank else log_probs
        prefixed(log_probs, words, wishes, self.rules)
        return Step(self.scores, raw, log_probs, self.lines, wishes, rooms)

    def _finish(self, ended: Bool[np.ndarray, "s w"], found: Children, length: int) -> None:
        for place, rank in np.argwhere(ended).tolist():
            if not self.live[place].done:
                self.live[place].finished.append(self._hypothesis(place, rank, found, length))

    def _hypothesis(self, place: int, rank: int, found: Children, length: int) -> Hypothesis:
        row, value = place * self.lines.width + int(found.origin[place, rank]), float(found.scores[place, rank])
        word = int(found.word[place, rank])
        words = (*self.lines.words[row, 1:].tolist(), *([] if word == END else [word]))
        said = (*self.lines.said[row].tolist(), float(found.said[place, rank]))
        return Hypothesis(words, value, float(value / penalty(length, self.power)), word == END, said)

    def _going(self, scores: Float[np.ndarray, "s w"], found: Children, length: int) -> list[int]:
        """Which sentences are not done; those at their limit are closed as they are."""
        going, best = [], scores.max(1).tolist()
        for place, sentence in enumerate(self.live):
            if sentence.done:
                continue
            dead = best[place] == -float("inf")
            if length >= sentence.limit or dead:
                sentence.done = True
                self._cut(place, sentence, scores, found, length)
                continue
            if not sentence.finished:
                going.append(place)
                continue
            now = self.power < 0 or len(sentence.finished) >= self.settings.beam
            reachable = best[place] / float(penalty(length if now else sentence.limit, self.power))
            sentence.done = sentence.best(self.settings.nbest) >= reachable
            if not sentence.done:
                going.append(place)
        return going

    def _cut(
        self, place: int, sentence: _Sentence, scores: Float[np.ndarray, "s w"], found: Children, length: int
    ) -> None:
        """At the limit, what was not ended is kept as incomplete, if too few were found."""
        for rank, score in enumerate(scores[place].tolist()):  # best first
            if len(sentence.finished) < self.settings.nbest and score > -float("inf"):
                sentence.finished.append(self._hypothesis(place, rank, found, length))
        if not sentence.finished:  # nothing may follow at all: what was said so far
            row = place * self.lines.width + int(self.scores[place].argmax())
            words, said = self.lines.words[row, 1:].tolist(), self.lines.said[row].tolist()
            value = float(self.scores[place].max())
            score = float(value / penalty(max(1, len(words)), self.power))
            sentence.finished.append(Hypothesis(tuple(words), value, score, False, tuple(said)))
