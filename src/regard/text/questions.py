"""Facts and a question to an answer: people go places and take things, and the last time counts.

After Weston et al. 2015 (bAbI), task 1; made from a grammar of our own.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from regard.text.generated import Pair, split_of

PEOPLE = ("anna", "ben", "carla", "david", "emma", "felix")
PLACES = ("attic", "cellar", "garden", "kitchen", "office", "yard")
THINGS = ("apple", "ball", "cup", "key", "lamp", "map")
FACTS = (2, 8)
SIZES = {"train": 40_000, "valid": 500, "test": 2_000}
TESTS = ("test",)


def pairs(split: str, seed: int = 1) -> Iterator[Pair]:
    """(line, facts and question, answer) of a split in its usual size; splits never share a text."""
    rng, seen = random.Random(f"{seed} {split}"), set[str]()
    while len(seen) < SIZES[split]:
        text = _text(rng)
        if split_of(text) == split and text not in seen:
            seen.add(text)
            yield len(seen), text, answer(text)


def answer(text: str) -> str:
    """What the facts say: where someone went last, or who took something last."""
    *facts, question = text.removesuffix(" ?").split(" . ")
    asked = question.split()[-1]
    for fact in reversed(facts):
        person, verb, *_, what = fact.split()
        if (verb, person) == ("went", asked):
            return what
        if (verb, what) == ("took", asked):
            return person
    raise ValueError(f"nothing is said of {asked} in: {text}; ask for someone or something that occurs")


def _text(rng: random.Random) -> str:
    facts = [_fact(rng) for _ in range(rng.randint(*FACTS))]
    person, verb, *_, last = rng.choice(facts).split()
    question = f"where is {person}" if verb == "went" else f"who has the {last}"
    return " . ".join([*facts, question]) + " ?"


def _fact(rng: random.Random) -> str:
    person = rng.choice(PEOPLE)
    went, took = f"{person} went to the {rng.choice(PLACES)}", f"{person} took the {rng.choice(THINGS)}"
    return rng.choice((went, took))
