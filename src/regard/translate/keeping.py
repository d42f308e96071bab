"""Placeholders that come out as they went in: the same, as often, none lost and none made up.

Four ways, each for what the one before could not do: the sentence as it is, if the model copies them; without them,
and put back where attention points; the text between them, each stretch by itself; the text as it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from regard.search.settings import Search
from regard.search.wishes import Wanted
from regard.translate.align import Span, chosen
from regard.translate.masks import Edit, Masked, edited, masked, restored
from regard.translate.placeholders import counted, signs, together
from regard.translate.result import Part
from regard.translate.speaker import Place, Speaker, Spoken, kept, place_of

Wishing = Callable[[Place, Wanted | None], Place]
"""Gives a place the wishes for what is in it, as long as it is wanted."""


@dataclass(frozen=True)
class Keeping:
    """How placeholders are kept: which signs they are, and which heads say where they go."""

    pattern: re.Pattern[str]
    layer: int | None = None
    heads: tuple[int, ...] | None = None

    def say(
        self, speaker: Speaker, texts: Sequence[str], at: Sequence[Place], settings: Search, limit: int,
        wishing: Wishing,
    ) -> list[list[list[Spoken]]]:  # fmt: skip
        """Each place as stretches one after the other, each with its alternatives."""
        wide = settings if settings.sample else settings.model_copy(update={"nbest": settings.beam})
        found = [[row] for row in speaker.say(texts, at, wide, limit)]
        open_: list[int] = []
        for n, place in enumerate(at):
            wanted = counted(place.core, self.pattern)
            good = [one for one in found[n][0] if counted(one.part.text, self.pattern) == wanted]
            found[n] = [good]
            if not good:
                open_.append(n)
        found = self._put_back(speaker, texts, at, settings, limit, found, open_)
        between = [n for n in open_ if not found[n][0]]
        runs = {n: self._runs(texts[n], at[n], wishing) for n in between}
        flat = [(n, run) for n in between for run in runs[n] if run.core]
        said = iter(speaker.say([texts[n] for n, _ in flat], [run for _, run in flat], settings, limit))
        for n in between:
            rows = [next(said) if run.core else [kept(texts[n], run)] for run in runs[n]]
            found[n] = [self._clean(texts[n], run, row) for run, row in zip(runs[n], rows, strict=True)]
        return found

    def _put_back(
        self, speaker: Speaker, texts: Sequence[str], at: Sequence[Place], settings: Search, limit: int,
        found: list[list[list[Spoken]]], which: Sequence[int],
    ) -> list[list[list[Spoken]]]:  # fmt: skip
        """The best translation without placeholders, and they where its words looked."""
        masks = {n: masked(at[n].core, together(at[n].core, signs(at[n].core, self.pattern))) for n in which}
        able = [n for n in which if any(c.isalpha() for c in masks[n].text)]
        places = [Place(0, len(masks[n].text), 0, masks[n].text, at[n].wish) for n in able]
        wide = settings if settings.sample else settings.model_copy(update={"nbest": settings.beam})
        said = speaker.say([place.core for place in places], places, wide, limit)
        for n, row in zip(able, said, strict=True):
            tries = (self._whole(speaker, texts[n], at[n], masks[n], one) for one in row)
            whole = next((one for one in tries if one is not None), None)
            if whole is not None:
                found[n] = [[whole]]
        return found

    def _whole(self, speaker: Speaker, text: str, place: Place, mask: Masked, said: Spoken) -> Spoken | None:
        weights = None if said.hypothesis is None else speaker.attention(said.ids, said.hypothesis)
        part = said.part
        if weights is None or weights.shape[-1] != len(part.source_spans):
            return None
        seen = chosen(weights.numpy(), self.layer, self.heads)
        edits = restored(mask, part.text, part.source_spans, part.spans, seen)
        if edits is None or counted(edited(part.text, edits), self.pattern) != counted(place.core, self.pattern):
            return None
        front, back = text[place.start : place.first], text[place.last : place.end]
        whole = replace(
            part,
            start=place.start,
            end=place.end,
            text=front + edited(part.text, edits) + back,
            source_spans=tuple(_by(mask.back(span), place.first) for span in part.source_spans),
            spans=tuple(_by(_after(span, edits), len(front)) for span in part.spans),
        )
        return replace(said, place=place, part=whole, notes=(*said.notes, "placeholders put back"))

    def _runs(self, text: str, place: Place, wishing: Wishing) -> list[Place]:
        """The stretches between placeholders, and these; one without a letter is kept too, as if it had no core."""
        edges = [place.start]
        for one in together(place.core, signs(place.core, self.pattern)):
            edges += [place.first + one.start, place.first + one.end]
        edges.append(place.end)
        found = []
        for number, (start, end) in enumerate(pairwise(edges)):
            run = place_of(text, start, end)
            silent = number % 2 == 1 or not any(c.isalpha() for c in run.core)
            found.append(Place(start, end, end, "") if silent else wishing(run, place.wish.wanted))
        return [run for run in found if run.end > run.start]

    def _clean(self, text: str, run: Place, row: Sequence[Spoken]) -> list[Spoken]:
        """Without what looks like a placeholder and is none of the source's; rather the source than that."""
        note = "placeholders apart"
        if not run.core:
            return [replace(one, notes=(*one.notes, note)) for one in row]
        good = [replace(one, notes=(*one.notes, note)) for one in row if not signs(one.part.text, self.pattern)]
        return good or [kept(text, run, note, "not translated")]


def faithful(text: str, parts: Sequence[Part], pattern: re.Pattern[str]) -> bool:
    """Whether the parts together have the placeholders of the text."""
    return counted("".join(part.text for part in parts), pattern) == counted(text, pattern)


def _by(span: Span, offset: int) -> Span:
    return span[0] + offset, span[1] + offset


def _after(span: Span, edits: Sequence[Edit]) -> Span:
    """Where characters are after the edits; those that were replaced are what replaced them."""
    shift, (start, end) = 0, span
    for edit in edits:
        if edit.start < end and start < edit.end:
            return edit.start + shift, edit.start + shift + len(edit.text)
        if edit.start >= end:
            break
        shift += len(edit.text) - (edit.end - edit.start)
    return start + shift, end + shift
