"""Heads are chosen by what they are good for, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from jaxtyping import Float

from regard.evaluate.heads import all_tables, by_both, by_gold, by_itself, links_of, mean, tables
from regard.evaluate.links import Gold
from regard.translate.heads import Heads
from regard.translate.translator import Translator

ORDERS = [(2, 0, 1), (0, 1), (1, 3, 2, 0), (1, 0), (2, 1, 0), (0, 2, 1)]


def sharp(order: Sequence[int], strength: float) -> Float[np.ndarray, "w v"]:
    """A table in which each word looks at its own, as strongly as this, and evenly elsewhere."""
    size = len(order)
    table = np.full((size, size), (1 - strength) / (size - 1))
    table[range(size), list(order)] = strength
    return table


def made(strengths: Sequence[Sequence[float]], orders: Sequence[Sequence[int]] = ORDERS) -> list[np.ndarray]:
    """Tables of heads that are so sure of the right word: below an even share they avoid it."""
    return [np.array([[sharp(order, s) for s in layer] for layer in strengths]) for order in orders]


def gold(orders: Sequence[Sequence[int]] = ORDERS) -> list[Gold]:
    links = [frozenset((source, target) for target, source in enumerate(order)) for order in orders]
    return [Gold(one, one) for one in links]


class TestChosen:
    def test_by_gold_links(self) -> None:
        found = by_gold(made([[0.1, 0.1], [0.2, 0.9], [0.1, 0.2]]), gold())
        assert found.heads == Heads(1, (1,))
        assert found.score == 0
        assert found.unseen == 0
        assert (len(found.layers), len(found.layers[0])) == (3, 2)
        assert found.layers[1][1] == 0
        assert min(found.layers[0]) > 0.5

    def test_heads_that_only_help_together(self) -> None:
        """Each is right in some sentences: their mean is right in all."""
        orders = [order for order in ORDERS if len(order) > 2]
        pairs = zip(made([[0.9]], orders), made([[0.1]], orders), strict=True)
        half = [np.concatenate([one, other] if n % 2 else [other, one], 1) for n, (one, other) in enumerate(pairs)]
        found = by_gold(half, gold(orders))
        assert found.heads == Heads(0, (0, 1))
        assert found.score == 0

    def test_fewer_heads_where_more_do_not_help(self) -> None:
        assert by_gold(made([[0.9, 0.9, 0.9]]), gold()).heads == Heads(0, (0,))

    def test_lines_that_say_nothing_are_passed_over(self) -> None:
        found = by_gold([None, *made([[0.9]])], [Gold(frozenset({(0, 0)}), frozenset({(0, 0)})), *gold()])
        assert (found.score, found.lines) == (0, 6)

    def test_by_both_directions(self) -> None:
        back = [tuple(int(n) for n in np.argsort(order)) for order in ORDERS]
        found, other = by_both(made([[0.1, 0.9], [0.1, 0.1]]), made([[0.1, 0.1], [0.9, 0.1]], back))
        assert (found.heads, other.heads) == (Heads(0, (1,)), Heads(1, (0,)))
        assert found.score == 1

    def test_by_itself(self) -> None:
        everyone_at_the_first = [np.stack([np.eye(len(o))[[0] * len(o)]])[None] for o in ORDERS]
        both = [np.concatenate([a, b], 1) for a, b in zip(everyone_at_the_first, made([[0.6]]), strict=True)]
        assert by_itself(both).heads == Heads(0, (1,))


class TestRead:
    def test_of_a_model_that_says_what_it_is_told(self, toy: Translator) -> None:
        table = tables(toy.speaker, "one red dog", "eins rot Hund", toy.longest)
        assert table is not None
        assert table.shape == (1, 2, 3, 3)
        forced = toy(["one red dog"], attention=True)[0]  # it says the same by itself
        assert forced.text == "eins rot Hund"
        assert [list(forced.alignment or ())] == links_of([table], Heads(toy.layer, toy.heads))

    def test_empty_and_too_long_lines_say_nothing(self, toy: Translator) -> None:
        assert tables(toy.speaker, "", "eins", toy.longest) is None
        assert tables(toy.speaker, "one", "", toy.longest) is None
        assert tables(toy.speaker, "one red dog", "eins rot Hund", 3) is None
        assert links_of([None], Heads()) == [[]]
        with pytest.raises(ValueError, match="nothing can be said of word links"):
            all_tables(toy, [""], [""])

    def test_without_a_choice_all_heads_of_the_last_layer_but_one(self) -> None:
        table = np.arange(3 * 2 * 1 * 2, dtype=float).reshape(3, 2, 1, 2)
        assert np.allclose(mean(table, Heads()), table[1].mean(0))
        assert np.allclose(mean(table, Heads(-1, (1,))), table[2, 1])
