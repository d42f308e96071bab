"""How near what was said comes to what is right: by BLEU for sentences, by edits for words and symbols."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import sacrebleu


class Measure(ABC):
    """Figures of texts that were said beside those that are right."""

    best_by: str
    """The figure by which a model is chosen ..."""
    title: str
    """... and what people call it."""
    best_is_highest: bool = True

    @abstractmethod
    def scores(self, sources: Sequence[str], said: Sequence[str], right: Sequence[str]) -> dict[str, float]:
        """The figures of all lines together."""


class Bleu(Measure):
    """BLEU and chrF2++ by sacreBLEU, and the share of lines that are exactly right."""

    best_by, title = "bleu", "BLEU"

    def __init__(self, tokenize: str = "13a") -> None:
        self.tokenize = tokenize

    def scores(self, sources: Sequence[str], said: Sequence[str], right: Sequence[str]) -> dict[str, float]:
        bleu = sacrebleu.corpus_bleu(said, [right], tokenize=self.tokenize, force=True)
        chrf = sacrebleu.corpus_chrf(said, [right], word_order=2)
        exact = sum(a == b for a, b in zip(said, right, strict=True)) / max(1, len(right))
        return {"bleu": bleu.score, "chrf": chrf.score, "exact": exact}


class Edits(Measure):
    """The share of answers that are right and that are wrong, errors per symbol, and edits per answer.

    Of phonemes `wrong` is what is called word error rate and `errors` phoneme error rate. A source that stands there
    several times has as many right answers: it counts once, against the nearest of them.
    """

    best_by, title = "exact", "exactly right"

    def __init__(self, by_word: bool) -> None:
        self.by_word = by_word

    def scores(self, sources: Sequence[str], said: Sequence[str], right: Sequence[str]) -> dict[str, float]:
        answers: dict[str, str] = dict(zip(sources, said, strict=True))
        known: dict[str, list[str]] = {}
        for source, target in zip(sources, right, strict=True):
            known.setdefault(source, []).append(target)
        nearest = [self._nearest(answers[source], targets) for source, targets in known.items()]
        edits, symbols, count = sum(e for e, _ in nearest), sum(n for _, n in nearest), max(1, len(nearest))
        exact = sum(e == 0 for e, _ in nearest) / count
        return {"exact": exact, "wrong": 1 - exact, "errors": edits / max(1, symbols), "distance": edits / count}

    def _nearest(self, said: str, targets: Sequence[str]) -> tuple[int, int]:
        """Edits to the nearest right answer, and its length; of equally near ones the first."""
        ours = self._symbols(said)
        found = [(distance(ours, theirs), len(theirs)) for theirs in map(self._symbols, targets)]
        return min(found, key=lambda pair: pair[0])

    def _symbols(self, text: str) -> Sequence[str]:
        return text.split() if self.by_word else text


def distance(one: Sequence[str], other: Sequence[str]) -> int:
    """Levenshtein's: the fewest symbols to put in, take away or replace to make one sequence of the other."""
    row = list(range(len(other) + 1))
    for at, symbol in enumerate(one, start=1):
        before, row[0] = row[0], at
        for place, wanted in enumerate(other, start=1):
            before, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, before + (symbol != wanted))
    return row[-1]
