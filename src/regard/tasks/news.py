"""Invented news: names, places and numbers that no vocabulary has, and summaries with one right wording. NumPy only.

Some sentences of an article say that they matter; the summary is what they say. `news` has one such sentence, which
tries copying. A `digest` has several, told in any order: whoever does not know what was said already says one twice,
and coverage is what knows it (See, Liu & Manning 2017).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from regard.text.articles import Article
from regard.text.words import Text

OPENINGS = ("yesterday ,", "meanwhile ,", "elsewhere ,", "last week ,", "as usual ,", "this morning ,")
HEADLINES = ("breaking news :", "officials confirm :", "just in :")
VERBS = {
    "bought": "buys", "sold": "sells", "found": "finds", "lost": "loses", "built": "builds", "painted": "paints",
    "counted": "counts", "caught": "catches", "planted": "plants", "borrowed": "borrows", "repaired": "repairs",
    "drew": "draws",
}  # fmt: skip
"""As an article says it, and as a headline does."""
THINGS = ("boats", "horses", "lamps", "bridges", "apples", "clocks", "bells", "carpets", "kites", "maps")
PROBLEMS = ("news", "digest")

_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_SENTENCE = 7  # words after the opening, the full stop among them


def known_words() -> list[str]:
    """All words that are not invented."""
    said = [word for opening in (*OPENINGS, *HEADLINES) for word in opening.split()]
    return sorted({*said, *VERBS, *VERBS.values(), *THINGS, "of", "in", "."})


def draw(rng: np.random.Generator, problem: str, sentences: int) -> Article:
    """An article of so many sentences, and its summary."""
    matters = _which(rng, problem, sentences)
    names, places = invented(rng, 2 * sentences).reshape(2, sentences)
    numbers = rng.choice(90_000, sentences, replace=False) + 10_000
    verbs, things, openings, headlines = (
        rng.integers(0, len(some), sentences) for some in (VERBS, THINGS, OPENINGS, HEADLINES)
    )
    text: list[str] = []
    for at in range(sentences):
        opening = HEADLINES[headlines[at]] if matters[at] else OPENINGS[openings[at]]
        verb, number, thing = list(VERBS)[verbs[at]], str(numbers[at]), THINGS[things[at]]
        text += [*opening.split(), names[at], "of", places[at], verb, number, thing, "."]
    facts = _sentences(summary_of(tuple(text)))
    told = [facts[at] for at in rng.permutation(len(facts))]
    return Article(tuple(text), (tuple(word for fact in told for word in fact),))


def summary_of(text: Text) -> Text:
    """What a right summary of an article says, in the article's order: read off its words, whoever wrote them."""
    said: list[str] = []
    for sentence in _sentences(text):
        name, _, place, verb, number, thing, stop = sentence[-_SENTENCE:]
        if " ".join(sentence[:-_SENTENCE]) in HEADLINES:
            said += [name, VERBS[verb], number, thing, "in", place, stop]
    return tuple(said)


def is_right(said: Text, text: Text) -> bool:
    """Whether a summary says all that matters, each once, in any order, and nothing else."""
    return sorted(_sentences(said)) == sorted(_sentences(summary_of(text)))


def invented(rng: np.random.Generator, count: int) -> np.ndarray:
    """Different words of two or three syllables that mean nothing."""
    found: dict[str, None] = {}
    while len(found) < count:
        size = int(rng.integers(2, 4))
        letters = zip(rng.integers(0, len(_CONSONANTS), size), rng.integers(0, len(_VOWELS), size), strict=True)
        word = "".join(_CONSONANTS[a] + _VOWELS[b] for a, b in letters).capitalize()
        found.setdefault(word)
    return np.array(list(found))


def _which(rng: np.random.Generator, problem: str, sentences: int) -> np.ndarray:
    """Which sentences matter: one, or two of three, give or take."""
    found = np.zeros(sentences, bool) if problem == "news" else rng.random(sentences) < 2 / 3
    found[rng.integers(0, sentences)] = True
    return found


def _sentences(text: Text) -> list[Text]:
    """Sentences with their full stops, and what follows the last."""
    ends = [place + 1 for place, word in enumerate(text) if word == "."]
    cuts = [0, *ends, *([len(text)] if not ends or ends[-1] < len(text) else [])]
    return [text[start:end] for start, end in pairwise(cuts)]
