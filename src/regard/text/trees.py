"""Sentences to their trees: the man saw a dog becomes (S (NP the man ) (VP saw (NP a dog ) ) ).

The grammar has one parse for every sentence: of two nouns a phrase belongs to the nearer. `parse` reads a sentence
without knowing how it was made.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.text.generated import Pair, split_of

ARTICLES = ("the", "a", "every", "some")
ADJECTIVES = ("old", "young", "small", "tall", "green", "quiet")
NOUNS = ("man", "woman", "dog", "bird", "house", "tree", "friend", "doctor")
GOING = ("slept", "laughed", "waited", "sang")
DOING = ("saw", "followed", "liked", "heard", "found", "called")
PREPOSITIONS = ("near", "behind", "with", "under")
DEEPEST = 4
"""Noun phrases within each other, at most."""
LENGTHS = (3, 20)
SIZES = {"train": 40_000, "valid": 500, "test": 1_000, "length=20": 500}
TESTS = ("test", "length=20")


def pairs(split: str, seed: int = 1) -> Iterator[Pair]:
    """(line, sentence, tree) of a split in its usual size; splits never share a sentence."""
    rng, seen = random.Random(f"{seed} {split}"), set[str]()
    wanted = range(20, 21) if split == "length=20" else range(LENGTHS[0], LENGTHS[1] + 1)
    home = "test" if split == "length=20" else split
    while len(seen) < SIZES[split]:
        tree = _sentence(rng)
        sentence = " ".join(word for word in tree if not _is_bracket(word))
        if sentence.count(" ") + 1 in wanted and split_of(sentence) == home and sentence not in seen:
            seen.add(sentence)
            yield len(seen), sentence, " ".join(tree)


def parse(sentence: str) -> str:
    """The tree of a sentence, found from its words alone."""
    reader = _Reader(sentence.split())
    tree = ["(S", *reader.noun_phrase(), *reader.verb_phrase(), ")"]
    if reader.next is not None:
        raise ValueError(f"'{reader.next}' follows the end of a sentence: {sentence}; take it away")
    return " ".join(tree)


@dataclass
class _Reader:
    words: Sequence[str]
    at: int = 0

    @property
    def next(self) -> str | None:
        return self.words[self.at] if self.at < len(self.words) else None

    def take(self, *kinds: Sequence[str]) -> list[str]:
        word = self.next
        if word is None or not any(word in kind for kind in kinds):
            raise ValueError(f"'{word}' cannot stand at place {self.at + 1} of: {' '.join(self.words)}")
        self.at += 1
        return [word]

    def noun_phrase(self) -> list[str]:
        found = ["(NP", *self.take(ARTICLES)]
        while self.next in ADJECTIVES:
            found += self.take(ADJECTIVES)
        found += self.take(NOUNS)
        if self.next in PREPOSITIONS:
            found += ["(PP", *self.take(PREPOSITIONS), *self.noun_phrase(), ")"]
        elif self.next == "that":
            found += ["(RC", *self.take(("that",)), *self.verb_phrase(), ")"]
        return [*found, ")"]

    def verb_phrase(self) -> list[str]:
        if self.next in GOING:
            return ["(VP", *self.take(GOING), ")"]
        return ["(VP", *self.take(DOING), *self.noun_phrase(), ")"]


def _sentence(rng: random.Random) -> list[str]:
    return ["(S", *_noun_phrase(rng, 1), *_verb_phrase(rng, 1), ")"]


def _noun_phrase(rng: random.Random, depth: int) -> list[str]:
    adjectives = rng.choices(ADJECTIVES, k=rng.choice((0, 0, 1, 1, 2)))
    found = ["(NP", rng.choice(ARTICLES), *adjectives, rng.choice(NOUNS)]
    more = rng.choice(("", "PP", "RC")) if depth < DEEPEST else ""
    if more == "PP":
        found += ["(PP", rng.choice(PREPOSITIONS), *_noun_phrase(rng, depth + 1), ")"]
    elif more == "RC":
        found += ["(RC", "that", *_verb_phrase(rng, depth + 1), ")"]
    return [*found, ")"]


def _verb_phrase(rng: random.Random, depth: int) -> list[str]:
    """`depth` is that of a noun phrase within it."""
    if depth > DEEPEST or rng.random() < 0.35:
        return ["(VP", rng.choice(GOING), ")"]
    return ["(VP", rng.choice(DOING), *_noun_phrase(rng, depth), ")"]


def _is_bracket(word: str) -> bool:
    return word == ")" or word.startswith("(")
