"""The translation that a view is asked about."""

from __future__ import annotations

from functools import cached_property

from regard.show.ask import Ask, NothingThere
from regard.show.sighting import Sighting, Watched, watched
from regard.show.trace import fitted
from regard.translate.result import Part, Result
from regard.translate.speaker import END_SIGN
from regard.translate.translator import Translator

MOST_BYTES = 4 * 2**20
"""Of weights in one answer."""


class Subject:
    """What a request is about, worked out when it is asked for, and once: several views may share it."""

    def __init__(self, translator: Translator, ask: Ask) -> None:
        self.translator, self.ask = translator, ask

    @cached_property
    def found(self) -> Result:
        """The text translated, with its alternatives and all that was looked at."""
        ask, search = self.ask, self.translator.search
        nbest = ask.nbest or (1 if search.sample else min(5, self.beam))
        prefix = [ask.prefix] if ask.prefix else None
        return self.translator([ask.text], attention=True, nbest=nbest, beam=self.beam, prefix=prefix)[0]

    @property
    def beam(self) -> int:
        """How wide the search is: as asked, and wide enough for the alternatives that were asked for."""
        ask, search = self.ask, self.translator.search
        width = ask.beam or search.beam
        return width if search.sample else max(width, ask.nbest or 1)

    @cached_property
    def result(self) -> Result:
        """The alternative that is looked into."""
        if self.ask.candidate >= max(1, len(self.found.nbest)):
            raise NothingThere(
                f"there is no alternative {self.ask.candidate}; {len(self.found.nbest)} were found, counted from 0"
            )
        return self.found.nbest[self.ask.candidate] if self.found.nbest else self.found

    @cached_property
    def part(self) -> Part:
        """The stretch of the text that is looked into: the model sees one at a time."""
        parts = spoken(self.result)
        if not parts:
            raise NothingThere("nothing was translated here, so there is nothing to look into; give some words")
        if self.ask.part >= len(parts):
            raise NothingThere(
                f"there is no part {self.ask.part}; the text was translated in {len(parts)}, counted from 0"
            )
        return parts[self.ask.part]

    @cached_property
    def ids(self) -> tuple[int, ...]:
        """What the model read."""
        core = self.result.source[self.part.start : self.part.end].strip()
        return tuple(self.translator.speaker.source.encode([core])[0])

    @cached_property
    def words(self) -> tuple[int, ...]:
        """What it said, without the end."""
        target, tokens = self.translator.speaker.target, self.part.tokens
        numbers = {piece: number for number, piece in enumerate(target.words(range(len(target))))}
        said = tokens[: len(tokens) - (self.part.complete and tokens[-1] == END_SIGN)]
        return tuple(numbers[piece] for piece in said)

    @property
    def before(self) -> tuple[str, ...]:
        """What the decoder was given at each step."""
        return ("<s>", *self.part.tokens)[: len(self.part.tokens)]

    @cached_property
    def watched(self) -> Watched:
        """Every look over it."""
        return watched(self.translator.model, self.ids, self.words, self.part.complete)

    def labels(self, sighting: Sighting) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Who looks, and at what. A row of the decoder's look at the source is the piece that was said then."""
        source, before = self.part.source_tokens, self.before
        rows, columns = sighting.weights.shape[1:]
        queries = {"encoder": source, "decoder": before, "cross": self.part.tokens}[sighting.place]
        return fitted(queries, rows), fitted(before if sighting.place == "decoder" else source, columns)


def spoken(result: Result) -> list[Part]:
    """The parts that were translated, not kept as they are."""
    return [part for part in result.parts if part.tokens]
