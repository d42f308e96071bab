"""What a translation must begin with and must hold: prefixes and glossary phrases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from regard.text.ids import END, PAD, START

Phrase = tuple[int, ...]
Wanted = Callable[[], bool]
"""Whether anyone still waits for an answer."""


@dataclass(frozen=True)
class Wish:
    """What is asked of one sentence's translation, in pieces."""

    prefix: tuple[int, ...] = ()
    """It begins with these."""
    phrases: tuple[Phrase, ...] = ()
    """Each of these appears in it, whole, in any order; one that is listed twice appears twice."""
    wanted: Wanted | None = field(default=None, compare=False)
    """Asked before every step: at the first no, the sentence leaves the search without an answer. None: no need."""

    def __post_init__(self) -> None:
        if any(word in (PAD, START, END) for words in (self.prefix, *self.phrases) for word in words):
            raise ValueError("a prefix or phrase holds padding, START or END; give ids made from text")
        if not all(self.phrases):
            raise ValueError("a phrase that must appear is empty; leave it out")

    @property
    def given_up(self) -> bool:
        """Whether nobody waits any more."""
        return self.wanted is not None and not self.wanted()

    def unmet(self, words: Sequence[int]) -> tuple[Phrase, ...]:
        """The phrases that these words do not hold, each as often as it is missing."""
        missing = {phrase: times - _held(words, phrase) for phrase, times in Counter(self.phrases).items()}
        return tuple(phrase for phrase, times in missing.items() for _ in range(times))

    def met(self, words: Sequence[int]) -> int:
        """How many pieces of phrases are said, counting the one that is furthest begun."""
        unmet = self.unmet(words)
        return sum(map(len, self.phrases)) - sum(map(len, unmet)) + max((begun(words, p) for p in unmet), default=0)

    def ways_on(self, words: Sequence[int]) -> Iterator[int]:
        """Words by which a phrase is begun or goes on."""
        yield from {phrase[begun(words, phrase)] for phrase in self.unmet(words)}

    def fitting(self, limit: int) -> Wish:
        """As much of this as can be said in so many words, END among them; phrases listed first come first."""
        room, phrases = limit - 1 - len(self.prefix), []
        for phrase in self.phrases:
            if len(phrase) <= room:
                room -= len(phrase)
                phrases.append(phrase)
        return Wish(self.prefix, tuple(phrases), self.wanted)


NOTHING = Wish()


def known(wishes: Iterable[Wish], vocabulary: int) -> None:
    """Refuse what this model has no word for."""
    largest = max((word for wish in wishes for words in (wish.prefix, *wish.phrases) for word in words), default=0)
    if largest >= vocabulary:
        raise ValueError(
            f"a prefix or phrase holds the id {largest}, and this model knows {vocabulary} words; "
            "make its ids with the pieces of this model's target language"
        )


def begun(words: Sequence[int], phrase: Phrase) -> int:
    """How many pieces of a phrase stand at the end of these words, the phrase not being whole."""
    longest = min(len(words), len(phrase) - 1)
    return next((n for n in range(longest, 0, -1) if tuple(words[len(words) - n :]) == phrase[:n]), 0)


def _held(words: Sequence[int], phrase: Phrase) -> int:
    size = len(phrase)
    return sum(tuple(words[place : place + size]) == phrase for place in range(len(words) - size + 1))
