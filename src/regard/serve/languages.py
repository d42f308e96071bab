"""Which languages are served, what they are called, and which one a text seems to be in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from babel import Locale, UnknownLocaleError

from regard.serve.settings import Pair
from regard.text.language import SCRIPT_OF, language, script, small_words

AUTO = "auto"
UNKNOWN = "und"
"""Undetermined, as ISO 639-2 has it: what a run is served as that does not say its languages."""


@dataclass(frozen=True)
class Guess:
    """A language, and how sure the guess is: 0 to 100."""

    language: str
    confidence: float


class Languages:
    """Of the models that are served."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = tuple(pairs)
        self.sources = tuple(dict.fromkeys(pair.source for pair in pairs))
        self.targets = tuple(dict.fromkeys(pair.target for pair in pairs))
        self.all = tuple(dict.fromkeys((*self.sources, *self.targets)))

    def pair(self, source: str, target: str) -> Pair | None:
        """The model from one to the other, if there is one; the first, if there are several."""
        return next((pair for pair in self.pairs if (pair.source, pair.target) == (source, target)), None)

    def possible(self) -> list[tuple[str, str]]:
        """Source and target that can be asked for: those of a model, or the same twice, which changes nothing."""
        same = [(code, code) for code in self.all]
        guessed = [(AUTO, target) for target in self.targets]
        return list(dict.fromkeys([*((pair.source, pair.target) for pair in self.pairs), *same, *guessed]))

    def listed(self) -> list[dict[str, object]]:
        """As LibreTranslate lists them."""
        return [
            {
                "code": code,
                "name": name_of(code),
                "targets": [target for source, target in self.possible() if source == code],
            }
            for code in self.all
        ]

    def guesses(self, text: str, among: Sequence[str]) -> list[Guess]:
        """The likeliest first, by script and by the small words that every sentence needs. Never empty."""
        sure, hits = language(text), small_words(text)
        if sure is not None and (sure in among or not any(hits.get(code) for code in among)):
            return [Guess(sure, 90.0)]
        scored = sorted(among, key=lambda code: -hits.get(code, 0))
        counted = sum(hits.get(code, 0) for code in among)
        if counted:
            return [Guess(code, round(80.0 * hits[code] / (counted + 1), 1)) for code in scored if hits.get(code)]
        letters = script(text)
        near = [code for code in among if letters is not None and SCRIPT_OF.get(code) == letters]
        if near:
            return [Guess(code, round(50.0 / len(near), 1)) for code in near]
        return [Guess(among[0], 0.0)]


def name_of(code: str) -> str:
    """A language's name in English; the code itself where it has none."""
    try:
        return str(Locale.parse(code, sep="-").get_display_name("en") or code)
    except (UnknownLocaleError, ValueError):
        return code
