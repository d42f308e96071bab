"""Raw text in, raw text out, and what was looked at: one translator for every model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from regard.models.seq2seq import Seq2Seq
from regard.search.settings import Search
from regard.search.steady import ask_for_strict
from regard.search.wishes import Wanted, Wish
from regard.text.pieces import Pieces
from regard.translate.align import Link, links, word_spans, words_at
from regard.translate.glossary import Glossary
from regard.translate.heads import stored
from regard.translate.keeping import Keeping, faithful
from regard.translate.opened import opened
from regard.translate.placeholders import SIGNS, SIGNS_AND_NUMBERS, signs
from regard.translate.result import Part, Result
from regard.translate.speaker import Place, Speaker, Spoken, kept, place_of
from regard.translate.split import divided
from regard.translate.suspicion import joined, suspicions


@dataclass(frozen=True)
class Asked:
    """What is wanted of one call."""

    search: Search
    limit: int
    attention: bool = False
    alignment: bool = False
    glossary: Glossary | None = None
    keeping: Keeping | None = None


class Translator:
    """A trained model with its pieces and its search."""

    def __init__(
        self, model: Seq2Seq, source: Pieces, target: Pieces, search: Search, longest: int = 256,
        layer: int | None = None, heads: tuple[int, ...] | None = None,
    ) -> None:  # fmt: skip
        self.speaker = Speaker(model, source, target)
        self.search, self.longest = search, longest
        self.layer, self.heads = layer, heads

    @property
    def model(self) -> Seq2Seq:
        """The model itself."""
        return self.speaker.model

    @classmethod
    def load(
        cls, run: Path | str, layer: int | None = None, heads: tuple[int, ...] | None = None, trust_code: bool = False
    ) -> Translator:
        """The best model of a run folder, if it is whole. Alignments are read from `layer` and `heads`.

        Without either, from those that `regard evaluate --choose-heads` chose for it, if it did.
        `trust_code` allows a run that names a mechanism in a file of its own, which is then run.
        """
        ask_for_strict()  # before the first product
        found = opened(Path(run), trust_code)
        recipe = found.recipe
        longest = min(recipe.data.longest, recipe.model.longest)
        if layer is None and heads is None and (choice := stored(Path(run))) is not None:
            layer, heads = choice.layer, choice.heads
        return cls(found.model, found.source, found.target, recipe.search, longest, layer, heads)

    def __call__(
        self,
        texts: Sequence[str],
        attention: bool = False,
        nbest: int = 1,
        alignment: bool = False,
        prefix: Sequence[str] | None = None,
        glossary: Glossary | Mapping[str, str] | None = None,
        keep_placeholders: bool = False,
        keep_numbers: bool = False,
        longest: int | None = None,
        wanted: Sequence[Wanted] | None = None,
        **search: Any,
    ) -> list[Result]:
        """Translate these texts, in their order; the answer for one does not depend on the others.

        Any setting of the run's `[search]` can be given another value by its name: beam, length_penalty, sample, ...
        `prefix` has a beginning for each translation, "" for none. Text of more pieces than `longest` (without it,
        than the model was trained on) is cut at sentences, and `parts` says where. Attention comes with alignment.
        `wanted` has a question for each text, asked at every step: at the first no it is given up, as `suspect` says.
        """
        if isinstance(texts, str):
            raise ValueError("texts is one text; put it in a list: translator([text])")
        if prefix is not None and len(prefix) != len(texts):
            raise ValueError(f"there are {len(texts)} texts and {len(prefix)} prefixes; give one each, '' for none")
        pattern = SIGNS_AND_NUMBERS if keep_numbers else SIGNS if keep_placeholders else None
        asked = Asked(
            self._settings({"nbest": nbest, **search}),
            min(self.longest, longest or self.longest),
            attention,
            attention or alignment,
            Glossary(glossary) if isinstance(glossary, Mapping) else glossary,
            None if pattern is None else Keeping(pattern, self.layer, self.heads),
        )
        return self._results(texts, prefix or [""] * len(texts), wanted or [None] * len(texts), asked)

    def _settings(self, changes: Mapping[str, Any]) -> Search:
        given = {**self.search.model_dump(), **changes}
        if "beam" not in changes and not given["sample"]:
            given["beam"] = max(given["beam"], given["nbest"])
        try:
            return Search(**given)
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(str(part) for part in first["loc"])
            raise ValueError(f"{name}: {first['msg'].removeprefix('Value error, ')}".removeprefix(": ")) from None

    def _results(
        self, texts: Sequence[str], prefixes: Sequence[str], wanted: Sequence[Wanted | None], asked: Asked
    ) -> list[Result]:
        rows = [list(self._places(*each, asked)) for each in zip(texts, prefixes, wanted, strict=True)]
        flat = [(text, place) for text, row in zip(texts, rows, strict=True) for place in row]
        said = iter(self._say([text for text, _ in flat], [place for _, place in flat], asked))
        return [
            self._result(text, prefix, [stretch for _ in row for stretch in next(said)], asked)
            for text, prefix, row in zip(texts, prefixes, rows, strict=True)
        ]

    def _say(self, texts: Sequence[str], places: Sequence[Place], asked: Asked) -> list[list[list[Spoken]]]:
        """For each place stretches one after the other, each with its alternatives."""
        if asked.keeping is None:
            return [[row] for row in self.speaker.say(texts, places, asked.search, asked.limit)]

        def wishing(place: Place, wanted: Wanted | None) -> Place:
            return self._wishing(place, "", wanted, asked)

        return asked.keeping.say(self.speaker, texts, places, asked.search, asked.limit, wishing)

    def _places(self, text: str, prefix: str, wanted: Wanted | None, asked: Asked) -> Iterator[Place]:
        """What is translated at one go: all of the text, if it is short enough. The first begins with the prefix."""
        whole = signs(text, asked.keeping.pattern) if asked.keeping else ()
        for start, end in divided(text, self.speaker.places, asked.limit, whole):
            place = place_of(text, start, end)
            yield self._wishing(place, prefix, wanted, asked)
            prefix = "" if place.core else prefix

    def _wishing(self, place: Place, prefix: str, wanted: Wanted | None, asked: Asked) -> Place:
        terms = asked.glossary.found(place.core) if asked.glossary else []
        phrases = list(dict.fromkeys(target for _, target in terms))
        if not prefix and not phrases:
            return place if wanted is None else replace(place, wish=Wish(wanted=wanted))
        first, *others = self.speaker.target.encode([prefix, *phrases])
        return replace(place, wish=Wish(tuple(first), tuple(map(tuple, others)), wanted))

    def _result(self, text: str, prefix: str, stretches: Sequence[Sequence[Spoken]], asked: Asked) -> Result:
        """The best of every stretch, then the second of every one that has a second, ..."""
        count = min(asked.search.nbest, max((len(row) for row in stretches), default=1))
        ranked = [[row[min(rank, len(row) - 1)] for row in stretches] for rank in range(count)]
        if asked.keeping is not None:
            whole = [row for row in ranked if faithful(text, [s.part for s in row], asked.keeping.pattern)]
            ranked = whole or [[kept(text, place_of(text, 0, len(text)), "placeholders apart", "not translated")]]
        found = [self._one(text, row, asked) for row in ranked]
        return replace(found[0], nbest=tuple(found))

    def _one(self, text: str, row: Sequence[Spoken], asked: Asked) -> Result:
        watched = [self.speaker.watched(spoken) for spoken in row] if asked.alignment else row
        parts = joined(text, [spoken.part for spoken in watched])
        result = Result(text, "".join(part.text for part in parts), parts)
        aligned = tuple(self._links(result)) if asked.alignment else None
        if not asked.attention:
            result = replace(result, parts=tuple(replace(part, attention=None) for part in parts))
        return replace(result, alignment=aligned, suspect=suspicions(result, row, asked.glossary))

    def _links(self, result: Result) -> list[Link]:
        """Which words of the source the words of each part looked at; what was kept is linked with itself."""
        words, said = word_spans(result.source), word_spans(result.text)
        found: set[Link] = set()
        for part, at in result.placed():
            if part.attention is not None and part.attention.shape[-1] == len(part.source_spans):
                here = words_at(part.source_spans, words)
                there = words_at([(start + at, end + at) for start, end in part.spans], said)
                found.update(links(part.attention.numpy(), here, there, self.layer, self.heads))
            elif not part.tokens:
                found.update(_same(part, at, words, said))
        return sorted(found, key=lambda link: (link[1], link[0]))


def _same(part: Part, at: int, words: Sequence[tuple[int, int]], said: Sequence[tuple[int, int]]) -> Iterator[Link]:
    inside = [(match.start(), match.end()) for match in re.finditer(r"\S+", part.text)]
    here = words_at([(part.start + start, part.start + end) for start, end in inside], words)
    there = words_at([(at + start, at + end) for start, end in inside], said)
    return ((one, other) for one, other in zip(here, there, strict=True) if one >= 0 and other >= 0)
