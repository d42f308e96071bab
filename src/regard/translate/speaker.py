"""A model with its pieces: sentences in, hypotheses in words out, and one watched pass over what was really said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.attend.watch import watch
from regard.models.seq2seq import Seq2Seq
from regard.search.beam import Hypothesis
from regard.search.settings import Search
from regard.search.wishes import NOTHING, Wish
from regard.tasks.decode import hypotheses
from regard.text.ids import START
from regard.text.pieces import SPACE, Pieces
from regard.translate.align import Span, lengths, places, places_by
from regard.translate.result import Part
from regard.translate.split import BREAKS

_BREAK = re.compile(f"[{BREAKS}]")

END_SIGN = "</s>"
SECOND_TRY = 3  # pieces of which no run is said twice, where the first try said one thing over and over


@dataclass(frozen=True)
class Place:
    """A stretch of a text, and within it what the model gets: all but the spaces at its ends."""

    start: int
    end: int
    first: int
    core: str
    wish: Wish = NOTHING

    @property
    def last(self) -> int:
        """Where the core ends."""
        return self.first + len(self.core)


@dataclass(frozen=True)
class Spoken:
    """What became of a place: the part of the result, and how it was found. Without a hypothesis it was kept."""

    place: Place
    part: Part
    ids: tuple[int, ...] = ()
    hypothesis: Hypothesis | None = None
    notes: tuple[str, ...] = ()


def place_of(text: str, start: int, end: int) -> Place:
    """This stretch of a text."""
    core = text[start:end].strip()
    first = start + len(text[start:end]) - len(text[start:end].lstrip()) if core else end
    return Place(start, end, first, core)


def kept(text: str, place: Place, *notes: str) -> Spoken:
    """A place of which nothing is translated."""
    return Spoken(place, Part(place.start, place.end, text[place.start : place.end]), notes=notes)


class Speaker:
    """Says sentences in the other language. Keeps nothing between calls."""

    def __init__(self, model: Seq2Seq, source: Pieces, target: Pieces) -> None:
        self.model, self.source, self.target = model.eval(), source, target
        self._written = source.words(range(len(source)))  # asking for each piece of a long text takes a while
        self._lengths = lengths(self._written)

    def places(self, text: str) -> Sequence[Span]:
        """Which characters each piece of a text covers."""
        told = self.source.spans(text)
        if told is not None:
            return told
        pieces = self.source.encode([text])[0]
        found = places_by(self._lengths[pieces], bool(pieces) and self._written[pieces[0]].startswith(SPACE))
        if found and found[-1][1] != len(text):  # bytes that are no characters
            return places([self._written[piece] for piece in pieces])
        return found

    def say(self, texts: Sequence[str], at: Sequence[Place], settings: Search, limit: int) -> list[list[Spoken]]:
        """Each place of its text translated, the best first; searched together, as like lengths are."""
        ids = self.source.encode([place.core for place in at])
        right = [row if 0 < len(row) <= limit else [] for row in ids]
        found = self._hypotheses(right, settings, [place.wish for place in at])
        again = [n for n, row in enumerate(found) if row and row[0].repeats]
        notes: dict[int, tuple[str, ...]] = {}
        if again and not settings.sample and not settings.no_repeat:
            otherwise = settings.model_copy(update={"no_repeat": SECOND_TRY})
            second = self._hypotheses([right[n] for n in again], otherwise, [at[n].wish for n in again])
            for n, row in zip(again, second, strict=True):
                if row and row[0].complete and not row[0].repeats:
                    found[n], notes[n] = row, ("second try",)
        return [
            [self._spoken(text, place, row, one, notes.get(n, ())) for one in some]
            or [kept(text, place, *_why_kept(place))]
            for n, (text, place, row, some) in enumerate(zip(texts, at, ids, found, strict=True))
        ]

    def _hypotheses(
        self, ids: Sequence[Sequence[int]], settings: Search, wishes: Sequence[Wish]
    ) -> list[list[Hypothesis]]:
        rows = [np.asarray(row, np.int64) for row in ids]
        return hypotheses(self.model, rows, settings, wishes) if rows else []

    def _spoken(
        self, text: str, place: Place, ids: Sequence[int], found: Hypothesis, notes: tuple[str, ...]
    ) -> Spoken:
        said = _BREAK.sub(" ", self.target.decode([found.words])[0])  # the core has none, so neither has what it says
        tokens = self.target.words(found.words)
        front = text[place.start : place.first]
        part = Part(
            place.start,
            place.end,
            front + said + text[place.last : place.end],
            tuple(words := self.source.words(ids)),
            tuple(_moved(self.source.spans(place.core) or places(words), place.first)),
            (*tokens, *((END_SIGN,) if found.complete else ())),
            tuple(_moved(places([*tokens, *([END_SIGN] if found.complete else [])]), len(front))),
            found.log_probs,
            found.complete,
        )
        return Spoken(place, part, tuple(ids), found, notes)

    def watched(self, spoken: Spoken) -> Spoken:
        """The same with its attention: one pass over what was said, as the search itself carries no weights."""
        if spoken.hypothesis is None:
            return spoken
        weights = self.attention(spoken.ids, spoken.hypothesis)
        return replace(spoken, part=replace(spoken.part, attention=weights))

    def attention(self, ids: Sequence[int], found: Hypothesis) -> Float[Tensor, "l h t s"] | None:
        """What every layer and head looked at when each piece was said; None where nothing looks at the source."""
        sights = self.model.sights()
        if not sights:
            return None
        device = next(self.model.parameters()).device
        before = [START, *found.words][: len(found.words) + found.complete]
        with torch.no_grad(), ExitStack() as watching:
            seen = [watching.enter_context(watch(sight)) for sight in sights]
            source = torch.tensor([list(ids)], device=device)
            self.model.states(source, torch.tensor([len(ids)], device=device), torch.tensor([before], device=device))
        layers = [torch.cat([look.weights[0] for look in one], 1) for one in seen]  # h t s: step by step or at once
        return torch.stack(layers).cpu()


def _why_kept(place: Place) -> tuple[str, ...]:
    """Without a hypothesis there was nothing to say, too much, or nobody to say it to."""
    return ("given up",) if place.wish.given_up else ("too long",) if place.core else ()


def _moved(spans: Sequence[Span], by: int) -> list[Span]:
    return [(start + by, end + by) for start, end in spans]
