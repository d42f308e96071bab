"""One translator on one text: everything that is then told, drawn or written."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from regard.evaluate.heads import all_tables, links_of
from regard.evaluate.links import Gold, LinkScore, link_score
from regard.evaluate.score import Bucket, Score, Sentence, best_and_worst, by_length, scores, sentences
from regard.evaluate.text import ScoredText
from regard.translate.heads import Heads
from regard.translate.result import Result
from regard.translate.translator import Translator

AT_ONCE = 1024  # lines given to the translator together
WAITED_FOR = 20  # lines translated one by one, to see how long one takes
LONGEST_WAIT = 10.0  # seconds in all for these

Tick = Callable[[int], None]


@dataclass(frozen=True)
class Speed:
    """How fast it was, on this machine, beside whatever else ran there."""

    seconds: float
    lines: int
    pieces: int
    """Of the translations, their ends included: what the model said, not the padding."""
    latency: float
    """Seconds for one line by itself, the median ..."""
    latency_95: float
    """... and what 95 % of them took at most."""
    threads: int
    beam: int
    batch_tokens: int

    @property
    def pieces_a_second(self) -> float:
        """Real target pieces, over the whole text."""
        return self.pieces / max(1e-9, self.seconds)

    @property
    def lines_a_second(self) -> float:
        """Lines, over the whole text."""
        return self.lines / max(1e-9, self.seconds)


@dataclass(frozen=True)
class Links:
    """How near the model's word links come to gold ones, and from which heads they were read."""

    heads: Heads
    score: LinkScore
    left_out: int
    """Lines that are empty, or too long for the model: no link is found there."""


@dataclass(frozen=True)
class Evaluation:
    """What there is to say of one translator on one text."""

    run: str
    text: ScoredText
    tokenise: str
    scores: dict[str, Score]
    sentences: tuple[Sentence, ...]
    unit: str
    buckets: tuple[Bucket, ...]
    speed: Speed
    suspects: dict[str, int]
    """How many translations are to be doubted, by what for."""
    links: Links | None = None

    @property
    def exact(self) -> float:
        """The share of lines that say what a reference says."""
        return sum(one.exact for one in self.sentences) / len(self.sentences)

    @property
    def said(self) -> list[str]:
        """The translations."""
        return [one.said for one in self.sentences]

    def best_and_worst(self, count: int = 10) -> tuple[list[Sentence], list[Sentence]]:
        """By chrF2++ of the line."""
        return best_and_worst(self.sentences, count)


def evaluate(
    translator: Translator,
    run: str,
    text: ScoredText,
    tokenise: str,
    resamples: int,
    gold: Sequence[Gold] | None = None,
    tick: Tick = lambda done: None,
    **search: Any,
) -> Evaluation:
    """Translate a text, and score it. `tick` is told how many lines are done."""
    began = time.monotonic()
    results = list(_translated(translator, text.sources, tick, search))
    seconds = time.monotonic() - began
    said = [result.text for result in results]
    found = sentences(said, text, tokenise, [result.suspect for result in results])
    unit, buckets = by_length(found, tokenise)
    return Evaluation(
        run,
        text,
        tokenise,
        scores(said, text.references, tokenise, resamples),
        tuple(found),
        unit,
        tuple(buckets),
        _speed(translator, text, results, seconds, search),
        dict(Counter(doubt for result in results for doubt in result.suspect)),
        None if gold is None else _links(translator, text, gold),
    )


def _translated(
    translator: Translator, sources: Sequence[str], tick: Tick, search: dict[str, Any]
) -> Sequence[Result]:
    found: list[Result] = []
    for start in range(0, len(sources), AT_ONCE):
        found += translator(sources[start : start + AT_ONCE], **search)
        tick(len(found))
    return found


def _speed(
    translator: Translator, text: ScoredText, results: Sequence[Result], seconds: float, search: dict[str, Any]
) -> Speed:
    settings = translator.search.model_copy(update=search)
    pieces = sum(len(result.tokens) for result in results)
    waits = _waits(translator, [source for source in text.sources if source.strip()], search)
    return Speed(
        seconds,
        len(text),
        pieces,
        statistics.median(waits),
        sorted(waits)[int(0.95 * (len(waits) - 1))],
        torch.get_num_threads(),
        settings.beam,
        settings.batch_tokens,
    )


def _waits(translator: Translator, sources: Sequence[str], search: dict[str, Any]) -> list[float]:
    """How long single lines take, spread evenly over the text."""
    count = min(WAITED_FOR, len(sources))
    picked = [sources[at * len(sources) // count] for at in range(count)]
    translator(picked[:1], **search)  # whatever is done only once
    found: list[float] = []
    for source in picked:
        began = time.perf_counter()
        translator([source], **search)
        found.append(time.perf_counter() - began)
        if sum(found) > LONGEST_WAIT:
            break
    return found or [0.0]


def _links(translator: Translator, text: ScoredText, gold: Sequence[Gold]) -> Links:
    """Links between the source and its first reference, which gold links are of: the model is made to say it."""
    tables = all_tables(translator, text.sources, text.references[0])
    heads = Heads(translator.layer, translator.heads)
    return Links(heads, link_score(links_of(tables, heads), gold), sum(table is None for table in tables))
