"""Rules on symbols: answers by another way, and every link leads to its symbol."""

from __future__ import annotations

import numpy as np
import pytest

from regard.tasks.symbols import ALPHABET, RULES, SEPARATOR, LookUp
from regard.tasks.toy import FIRST, Sentence


def walked(sentence: Sentence) -> list[int]:
    """A look-up by a dictionary."""
    source = sentence.source.tolist()
    table = {source[at + 1]: source[at + 2] for at in range(0, len(source) - 1, 3)}
    assert all(source[at] == SEPARATOR for at in range(0, len(source) - 1, 3))
    found, key = [], source[-1]
    for _ in sentence.target:
        key = table[key]
        found.append(key)
    return found


ANSWERS = {"copy": lambda s: s.source.tolist(), "reverse": lambda s: s.source.tolist()[::-1], "look-up": walked}


@pytest.mark.parametrize("name", RULES)
def test_answers_and_links_are_right(name):
    for sentence in RULES[name].sentences(200, 10, 20, seed=3):
        assert sentence.target.tolist() == ANSWERS[name](sentence)
        assert sentence.source[sentence.links].tolist() == sentence.target.tolist()
        assert 10 <= len(sentence.source) <= 20
        assert (
            FIRST <= sentence.source.min() <= sentence.source.max() < RULES[name].vocabulary == FIRST + 1 + ALPHABET
        )


def test_what_is_looked_up_stands_anywhere():
    places = [sentence.links[0] for sentence in LookUp().sentences(200, 19, 19, seed=1)]
    assert set(places) == {2, 5, 8, 11, 14, 17}


def test_sentences_depend_on_the_seed_alone():
    one, same, other = (RULES["copy"].sentences(9, 10, 20, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a.source, b.source) for a, b in zip(one, same, strict=True))
    assert any(not np.array_equal(a.source, b.source) for a, b in zip(one, other, strict=True))
