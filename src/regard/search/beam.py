"""One search for every model: hypotheses are extended word by word, and the best are kept."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.models.seq2seq import Ids, Lengths, Seq2Seq, State
from regard.search.settings import Search
from regard.text.ids import END, PAD, START, UNKNOWN


@dataclass(frozen=True)
class Hypothesis:
    """A finished translation: its words without END, the sum of their log-probabilities, and what it is ranked by."""

    words: tuple[int, ...]
    log_prob: float
    score: float
    complete: bool = True
    """False where the limit of words was reached before END."""


def search(model: Seq2Seq, source: Ids, lengths: Lengths, settings: Search) -> list[list[Hypothesis]]:
    """The best hypotheses for each row of the source, best first. Beam 1 is greedy.

    A sentence is done when no live hypothesis can still become the best: log-probabilities only fall, and the length
    penalty is largest at the limit. Once as many are finished as the beam is wide, a live one must be ahead as it is:
    several poor ones that ended early do not end the search before the best.
    """
    with torch.no_grad():
        return _Beams(model, source, lengths, settings).run()


def penalty(length: int | Tensor, power: float) -> float | Tensor:
    """By what log p is divided. Wu et al. 2016: ((5 + length) / 6) ^ power."""
    return ((5 + length) / 6) ** power


@dataclass
class _Sentence:
    """What is known of one sentence: its limit, and its finished hypotheses."""

    row: int
    limit: int
    finished: list[Hypothesis] = field(default_factory=list)

    def best(self) -> float:
        return max((h.score for h in self.finished), default=-float("inf"))


class _Beams:
    """All live hypotheses of a batch: `beam` rows a sentence, sentences leaving as they are done."""

    def __init__(self, model: Seq2Seq, source: Ids, lengths: Lengths, settings: Search) -> None:
        self.model, self.beam, self.power = model, settings.beam, settings.length_penalty
        limits = (lengths * settings.longest_ratio).long() + settings.longest_extra
        limits = limits if model.longest is None else limits.clamp_max(model.longest)
        self.all = [_Sentence(row, int(limit)) for row, limit in enumerate(limits.tolist())]
        self.live = list(self.all)
        self.state: State = model.start(source, lengths)
        self.words = source.new_full((len(source), 1), START)  # a row per hypothesis, START first
        self.scores = torch.zeros(len(source), 1, device=source.device)  # sentences × hypotheses each

    def run(self) -> list[list[Hypothesis]]:
        length = 0
        while self.live:
            length += 1
            logits, self.state = self.model.step(self.state, self.words[:, -1])
            self._extend(_log_probs(logits), length)
        return [sorted(sentence.finished, key=lambda h: -h.score)[: self.beam] for sentence in self.all]

    def _extend(self, log_probs: Float[Tensor, "r v"], length: int) -> None:
        """Every hypothesis by every word; the best go on, those with END are finished."""
        sentences, width = self.scores.shape
        count = log_probs.shape[1]
        total = (self.scores.reshape(-1, 1) + log_probs).view(sentences, width * count)
        scores, index = total.topk(min(2 * self.beam, width * count), 1)
        origin, word = index // count, index % count
        ended = (word == END) & (scores > -torch.inf)
        in_beam = torch.arange(scores.shape[1], device=scores.device) < self.beam
        self._finish(ended & in_beam, origin, scores, length)
        order = torch.argsort(ended.int(), dim=1, stable=True)[:, : self.beam]  # live ones first, still best first
        scores, origin, word, ended = (x.gather(1, order) for x in (scores, origin, word, ended))
        scores = scores.masked_fill(ended, -torch.inf)
        going = self._going(scores, origin, word, length)
        self._pick(going, scores, origin, word)

    def _finish(self, ended: Tensor, origin: Tensor, scores: Tensor, length: int) -> None:
        places = ended.nonzero().tolist()
        if not places:
            return
        width, values = self.scores.shape[1], scores.tolist()
        rows = [sentence * width + int(origin[sentence, rank]) for sentence, rank in places]
        texts = self.words[rows, 1:].tolist()
        for (sentence, rank), words in zip(places, texts, strict=True):
            value = values[sentence][rank]
            found = Hypothesis(tuple(words), value, float(value / penalty(length, self.power)))
            self.live[sentence].finished.append(found)

    def _going(self, scores: Tensor, origin: Tensor, word: Tensor, length: int) -> list[int]:
        """Which sentences are not done; those at their limit are closed as they are."""
        going, best = [], scores.amax(1).tolist()
        for place, sentence in enumerate(self.live):
            if length >= sentence.limit:
                self._cut(place, sentence, scores, origin, word, length)
                continue
            now = self.power < 0 or len(sentence.finished) >= self.beam
            reachable = best[place] / float(penalty(length if now else sentence.limit, self.power))
            if best[place] > -float("inf") and sentence.best() < reachable:
                going.append(place)
        return going

    def _cut(
        self, place: int, sentence: _Sentence, scores: Tensor, origin: Tensor, word: Tensor, length: int
    ) -> None:
        """At the limit, what was not ended is kept as incomplete, if nothing else was found."""
        if sentence.finished:
            return
        rank = int(scores[place].argmax())
        row = place * self.scores.shape[1] + int(origin[place, rank])
        value = float(scores[place, rank])
        words = (*self.words[row, 1:].tolist(), int(word[place, rank]))
        score = value / float(penalty(length, self.power))
        sentence.finished.append(Hypothesis(words, value, score, complete=False))

    def _pick(self, going: list[int], scores: Tensor, origin: Tensor, word: Tensor) -> None:
        """Go on with these sentences: their hypotheses' states, words and scores."""
        self.live = [self.live[place] for place in going]
        if not going:
            return
        kept = torch.tensor(going, device=scores.device)
        rows: Int[Tensor, " r"] = (kept[:, None] * self.scores.shape[1] + origin[kept]).flatten()
        same = torch.equal(rows, torch.arange(len(self.words), device=rows.device))
        self.state = self.state if same else self.state.pick(rows)
        self.scores = scores[kept]
        self.words = torch.cat((self.words[rows], word[kept].reshape(-1, 1)), 1)


def _log_probs(logits: Float[Tensor, "r v"]) -> Float[Tensor, "r v"]:
    """Of words that may be said: padding, START and the unknown may not."""
    log_probs = torch.log_softmax(logits.float(), 1)
    log_probs[:, [PAD, START, UNKNOWN]] = -torch.inf
    return log_probs
