"""ROUGE against counts made by hand and a brute force, and repeated runs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from regard.tasks.rouge import by_order, by_runs, common, repeated, repeats, rouge

SAID, RIGHT = ["police", "killed", "the", "gunman"], ["police", "kill", "the", "gunman"]
OTHER = ["the", "gunman", "kill", "police"]


def test_lin_s_own_examples():
    """Lin 2004, 3.1: with equal bigrams, ROUGE-L prefers the sentence in the right order (3/4 to 2/4)."""
    assert by_runs(RIGHT, SAID, 2) == by_runs(OTHER, SAID, 2) == pytest.approx(1 / 3)
    assert by_order(RIGHT, SAID) == 3 / 4
    assert by_order(OTHER, SAID) == 2 / 4


def test_a_word_counts_as_often_as_both_have_it():
    assert by_runs(["the", "the", "the", "cat"], ["the", "cat", "the", "dog"], 1) == pytest.approx(2 * 3 / 8)
    assert by_runs([], ["a"], 1) == by_runs([], [], 2) == by_order([], []) == 0.0


def test_the_longest_common_subsequence_by_trying_all():
    rng = np.random.default_rng(3)
    for _ in range(40):
        one, other = (rng.choice(list("abc"), rng.integers(0, 7)).tolist() for _ in range(2))

        def parts(text):
            return {
                tuple(text[i] for i in some)
                for n in range(len(text) + 1)
                for some in combinations(range(len(text)), n)
            }

        assert common(one, other) == max(map(len, parts(one) & parts(other)))


def test_of_several_references_the_best_counts_for_each_measure():
    found = rouge(["a", "b", "c"], [["a", "b", "x", "y"], ["c", "b", "a"]])
    assert found["rouge1"] == 1.0
    assert found["rouge2"] == pytest.approx(2 * 1 / 5)
    assert found["rougeL"] == pytest.approx(2 * 2 / 7)


def test_runs_that_were_said_before():
    assert repeats(["a", "b", "c", "a", "b", "c", "a", "b"]) == (3, 6)
    assert repeats(["a", "b"]) == (0, 0)
    assert repeated([["a", "b", "c", "a", "b", "c"], ["a", "b", "c"]]) == pytest.approx(1 / 5)
    assert repeated([[]]) == 0.0
