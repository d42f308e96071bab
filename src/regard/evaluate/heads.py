"""Which layer and heads to read word links from: by gold links, by agreement with the other direction, or alone.

What is looked at are given translations, not the model's own: it is made to say each reference, and watched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from regard.evaluate.links import Gold, LinkScore, link_score
from regard.search.beam import Hypothesis
from regard.translate.align import Link, agreement, by_word, chosen, strongest, words_of
from regard.translate.heads import Heads
from regard.translate.speaker import Speaker
from regard.translate.translator import Translator

Tables = Float[np.ndarray, "l h w v"]
"""Of one pair of lines: what each head of each layer saw, target words down, source words across."""
Links = list[list[Link]]
Judge = Callable[[Sequence[Float[np.ndarray, "w v"]]], float]
"""How good the tables of a whole text are as alignments; more is better."""
ROUNDS = 3


@dataclass(frozen=True)
class Chosen:
    """The heads, by what they were chosen, how good they are by that, and how good every layer was."""

    heads: Heads
    by: str
    """gold, both directions, or itself."""
    score: float
    """AER for gold, else agreement as F1."""
    layers: tuple[tuple[float, ...], ...]
    """The same for each head of each layer by itself."""
    lines: int
    unseen: float | None = None
    """AER of lines that a choice was not made on: chosen on either half, measured on the other."""


def tables(speaker: Speaker, source: str, target: str, longest: int) -> Tables | None:
    """What the model looked at when it was made to say this; None where it cannot be told.

    That is, where one of them is empty or too long for the model, or where a mechanism mixes the words it looks at.
    """
    here, there = speaker.source.encode([source])[0], speaker.target.encode([target])[0]
    if not 0 < len(here) <= longest or not 0 < len(there) <= longest:
        return None
    weights = speaker.attention(here, Hypothesis(tuple(there), 0.0, 0.0))
    if weights is None or weights.shape[-1] != len(here):
        return None
    heard, said = words_of(speaker.source.words(here)), words_of(speaker.target.words(there))
    if heard[0] != source.split() or said[0] != target.split():
        return None
    rows = [*said[1], -1]  # the end is no word
    seen = [[by_word(head, heard[1], rows) for head in layer] for layer in weights.numpy()]
    return np.array(seen)


def all_tables(translator: Translator, sources: Sequence[str], targets: Sequence[str]) -> list[Tables | None]:
    """The tables of a whole text."""
    pairs = zip(sources, targets, strict=True)
    found = [tables(translator.speaker, source, target, translator.longest) for source, target in pairs]
    if sources and all(one is None for one in found):
        raise ValueError(
            "nothing can be said of word links: the model has nothing that looks at single words of the source, "
            "or every line is empty or too long for it"
        )
    return found


def mean(table: Tables, choice: Heads) -> Float[np.ndarray, "w v"]:
    """The mean of the chosen heads; ValueError where there are none such."""
    return chosen(table, choice.layer, choice.heads)


def links_of(found: Sequence[Tables | None], choice: Heads) -> Links:
    """The links of a whole text; none for a line of which nothing can be told."""
    return [[] if one is None else strongest(mean(one, choice)) for one in found]


def by_gold(found: Sequence[Tables | None], gold: Sequence[Gold]) -> Chosen:
    """The layer and heads with the lowest AER."""
    there = [(one, right) for one, right in zip(found, gold, strict=True) if one is not None]
    seen, right = [one for one, _ in there], [one for _, one in there]
    heads, _ = _search(seen, _judge(right))
    layers = _each(seen, lambda some: _aer(some, right))
    return Chosen(heads, "gold", _score(seen, right, heads).aer, layers, len(seen), _unseen(seen, right))


def by_both(found: Sequence[Tables | None], other: Sequence[Tables | None]) -> tuple[Chosen, Chosen]:
    """The heads of two models, one for each direction, whose links agree best; each is chosen in turn."""
    there = [(a, b) for a, b in zip(found, other, strict=True) if a is not None and b is not None]
    if not there:
        raise ValueError("no line can be aligned by both models; give text that both can read")
    mine, theirs = [a for a, _ in there], [b for _, b in there]
    ours, yours = by_itself(mine).heads, by_itself(theirs).heads
    for _ in range(ROUNDS):
        before = ours, yours
        ours, _ = _search(mine, _agreeing(theirs, yours))
        yours, _ = _search(theirs, _agreeing(mine, ours))
        if (ours, yours) == before:
            break
    score = _agreeing(theirs, yours)([mean(one, ours) for one in mine])
    return (
        Chosen(ours, "both directions", score, _each(mine, _agreeing(theirs, yours)), len(mine)),
        Chosen(yours, "both directions", score, _each(theirs, _agreeing(mine, ours)), len(theirs)),
    )


def by_itself(found: Sequence[Tables | None]) -> Chosen:
    """The heads whose links from target to source and from source to target agree best."""
    seen = [one for one in found if one is not None]
    heads, score = _search(seen, _own)
    return Chosen(heads, "itself", score, _each(seen, _own), len(seen))


def _search(seen: Sequence[Tables], judge: Judge) -> tuple[Heads, float]:
    """The best of every layer: all heads, or the best one and then the next best as long as they help."""
    found: list[tuple[float, int, Heads]] = []
    for layer in range(seen[0].shape[0]):
        here = [one[layer] for one in seen]
        count = here[0].shape[0]
        found.append((judge([one.mean(0) for one in here]), -count, Heads(layer, tuple(range(count)))))
        picked: list[int] = []
        best = -np.inf
        while len(picked) < count:
            tried = [
                (judge([one[[*picked, head]].mean(0) for one in here]), -head)
                for head in range(count)
                if head not in picked
            ]
            score, head = max(tried)
            if score <= best:
                break
            picked, best = [*picked, -head], score
            found.append((best, -len(picked), Heads(layer, tuple(sorted(picked)))))
    score, _, heads = max(found, key=lambda one: (one[0], one[1]))
    return heads, score


def _judge(gold: Sequence[Gold]) -> Judge:
    return lambda some: -_aer(some, gold)


def _aer(some: Sequence[Float[np.ndarray, "w v"]], gold: Sequence[Gold]) -> float:
    return link_score([strongest(one) for one in some], gold).aer


def _score(seen: Sequence[Tables], gold: Sequence[Gold], choice: Heads) -> LinkScore:
    return link_score([strongest(mean(one, choice)) for one in seen], gold)


def _own(some: Sequence[Float[np.ndarray, "w v"]]) -> float:
    return float(np.mean([agreement(one) for one in some]))


def _agreeing(others: Sequence[Tables], choice: Heads) -> Judge:
    theirs = {(n, there, here) for n, one in enumerate(others) for here, there in strongest(mean(one, choice))}

    def judge(some: Sequence[Float[np.ndarray, "w v"]]) -> float:
        ours = {(n, *link) for n, one in enumerate(some) for link in strongest(one)}
        return 2 * len(ours & theirs) / max(1, len(ours) + len(theirs))

    return judge


def _each(seen: Sequence[Tables], judge: Judge) -> tuple[tuple[float, ...], ...]:
    layers, heads = seen[0].shape[:2]
    return tuple(tuple(judge([one[layer, head] for one in seen]) for head in range(heads)) for layer in range(layers))


def _unseen(seen: Sequence[Tables], gold: Sequence[Gold]) -> float | None:
    """Lines with an even number judge a choice made on the others, and the other way round."""
    if len(seen) < 4:
        return None
    found: list[list[Link]] = [[] for _ in seen]
    for part in (0, 1):
        heads, _ = _search(seen[part::2], _judge(gold[part::2]))
        for n in range(1 - part, len(seen), 2):
            found[n] = strongest(mean(seen[n], heads))
    return link_score(found, gold).aer
