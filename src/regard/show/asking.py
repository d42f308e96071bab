"""What can be asked of a view, checked; and the translation that it is asked about."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from regard.show.sighting import Sighting, Watched, watched
from regard.show.trace import fitted
from regard.translate.result import Part, Result
from regard.translate.speaker import END_SIGN
from regard.translate.translator import Translator

MOST_TEXT = 5000
"""Characters; a page of more could not be read."""
MOST_BYTES = 4 * 2**20
"""Of weights in one answer."""


class Ask(BaseModel):
    """A request; what is left out has a sensible value."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    text: str = Field(max_length=MOST_TEXT)
    model: str | None = None
    nbest: int | None = Field(None, ge=1, le=10)
    """Alternatives wanted; without it as many as the run's beam finds anyway, up to five."""
    beam: int | None = Field(None, ge=1, le=16)
    candidate: int = Field(0, ge=0, le=9)
    """Which of the alternatives to look into."""
    part: int = Field(0, ge=0)
    """Which part of a text that was cut."""
    place: Literal["encoder", "decoder", "cross"] = "cross"
    layer: int = Field(0, ge=0)
    head: int = Field(0, ge=0)
    prefix: str = Field("", max_length=MOST_TEXT)
    """How the translation must begin."""


def asked(body: Mapping[str, Any]) -> Ask:
    """The request, or ValueError with one sentence on what is wrong with it."""
    try:
        return Ask(**{str(key): value for key, value in body.items()})
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{name}: {first['msg']}") from None


class Subject:
    """What a request is about, worked out when it is asked for, and once: several views may share it."""

    def __init__(self, translator: Translator, ask: Ask) -> None:
        self.translator, self.ask = translator, ask

    @cached_property
    def found(self) -> Result:
        """The text translated, with its alternatives and all that was looked at."""
        ask, search = self.ask, self.translator.search
        changes: dict[str, Any] = {} if ask.beam is None else {"beam": ask.beam}
        return self.translator(
            [ask.text],
            attention=True,
            nbest=ask.nbest or (1 if search.sample else min(5, ask.beam or search.beam)),
            prefix=[ask.prefix] if ask.prefix else None,
            **changes,
        )[0]

    @cached_property
    def result(self) -> Result:
        """The alternative that is looked into."""
        if self.ask.candidate >= max(1, len(self.found.nbest)):
            raise ValueError(
                f"there is no alternative {self.ask.candidate}; {len(self.found.nbest)} were found, counted from 0"
            )
        return self.found.nbest[self.ask.candidate] if self.found.nbest else self.found

    @cached_property
    def part(self) -> Part:
        """The stretch of the text that is looked into: the model sees one at a time."""
        parts = spoken(self.result)
        if not parts:
            raise ValueError("nothing was translated here, so there is nothing to look into; give some words")
        if self.ask.part >= len(parts):
            raise ValueError(
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
