"""Problems that ask for labels: every answer is checked by another way to find it."""

from __future__ import annotations

import numpy as np
import pytest

from regard.tasks.labels import LabelProblem
from regard.tasks.problems import LABELS
from regard.tasks.rows import Again, Mirror, Parity, Sum, Switch
from regard.tasks.sentences import BEINGS, OF_BEINGS, PLACES, Referent
from regard.tasks.sets import Digits, OddOneOut, different, farthest, largest, total
from regard.tasks.stories import ASKS, Story

RNG = np.random.default_rng


@pytest.mark.parametrize("name", list(LABELS))
def test_shapes_are_as_said_and_draws_repeat(name):
    problem: LabelProblem = LABELS[name]
    drawn, again = (problem.draw(RNG(1), 6, 5) for _ in range(2))
    assert drawn.items.shape[0] == drawn.asked.shape[0] == drawn.right.shape[0] == 6
    assert np.array_equal(drawn.items, again.items)
    assert np.array_equal(drawn.right, again.right)
    if problem.words:
        assert 0 <= drawn.items.min() <= drawn.items.max() < problem.words
    else:
        assert drawn.items.shape[-1] == problem.features
    assert drawn.right.min() >= 0
    assert drawn.right.max() < (problem.classes or drawn.asked.shape[1])
    assert drawn.asked.max() < drawn.items.shape[1]
    assert len(problem.told(drawn.items[0])) == drawn.items.shape[1]
    assert (drawn.hard is not None) == bool(problem.hardness)
    assert drawn.some(2, 4).right.tolist() == drawn.right[2:4].tolist()


def test_the_mirror_says_it_from_the_end():
    problem = Mirror()
    drawn = problem.draw(RNG(1), 3, 5)
    for items, right in zip(drawn.items, drawn.right, strict=True):
        assert [str(digit) for digit in right] == list(problem.told(items))[::-1]


@pytest.mark.parametrize("backwards", [False, True])
def test_again_says_after_the_mark_what_was_before_it(backwards):
    problem = Again(backwards)
    drawn = problem.draw(RNG(1), 3, 4)
    for items, asked, right in zip(drawn.items, drawn.asked, drawn.right, strict=True):
        told = list(problem.told(items))
        assert told[4:] == ["|", "_", "_", "_", "_"]
        assert asked.tolist() == [5, 6, 7, 8]
        assert "".join(map(str, right)) == "".join(told[:4])[:: -1 if backwards else 1]


@pytest.mark.parametrize("base", [2, 10])
def test_sums_are_sums_and_carries_come_from_as_far_as_said(base):
    problem = Sum(base, handing=0.6)
    drawn = problem.draw(RNG(1), 40, 9)
    for items, right, hard in zip(drawn.items, drawn.right, drawn.hard, strict=True):
        *columns, mark = [word.split("+") for word in problem.told(items)]
        assert mark == ["="]
        above, below = (int("".join(digits), base) for digits in zip(*columns, strict=True))
        assert int("".join(map(str, right)), base) == (above + below) % base**9
        sums = [int(a) + int(b) for a, b in columns]
        for place in range(9):
            after = sums[place + 1 :]
            deciding = next((far + 1 for far, value in enumerate(after) if value != base - 1), len(after))
            assert hard[place] == deciding


def test_a_sum_with_another_deciding_column_differs_there():
    """The column that is said to decide does: no carry from behind it changes the digit."""
    drawn = Sum(10, handing=0.8).draw(RNG(2), 30, 8)
    for items, hard in zip(drawn.items, drawn.hard, strict=True):
        sums = (items[:-1, 0] - 1 + items[:-1, 1] - 11).astype(int)
        for place, far in enumerate(hard.tolist()):
            if place + far >= 8 or far == 0:
                continue
            digits = {carry: _digit(sums, place, place + far, carry) for carry in (0, 1)}
            assert (digits[0] == digits[1]) == (sums[place + far] != 9)


def _digit(sums: np.ndarray, place: int, last: int, carry: int) -> int:
    """The digit at a place if this carry comes into the last column."""
    for column in range(last, place, -1):
        carry = int(sums[column] + carry) // 10
    return int(sums[place] + carry) % 10


def test_parity_counts_ones_among_those_that_are_shown():
    drawn = Parity(bits=9).draw(RNG(1), 50, 9)
    for items, right, hard in zip(drawn.items, drawn.right, drawn.hard, strict=True):
        shown = items[0].tolist()
        assert right[0] == shown.count(1.0) % 2
        assert hard[0] == 9 - shown.count(0.0)
        assert 0.0 not in shown[: hard[0]]
    assert set(drawn.hard[:, 0].tolist()) == set(range(1, 10))


@pytest.mark.parametrize(("rule", "by_hand"), [(largest, max), (total, sum), (different, lambda d: len(set(d)))])
def test_sets_are_counted(rule, by_hand):
    problem = Digits(rule)
    drawn = problem.draw(RNG(1), 60, 7)
    for items, right in zip(drawn.items, drawn.right, strict=True):
        told = problem.told(items)
        assert told[0] == "?"
        assert right[0] == by_hand([int(word) for word in told[1:]])
    assert len(set(drawn.right.ravel().tolist())) > 4


def test_the_best_guess_of_the_odd_one_is_the_likeliest():
    """Against the density of all numbers together, with its whole covariance."""
    problem = OddOneOut(quiet=2, loud_features=1, noise=0.7)
    drawn = problem.draw(RNG(1), 40, 4)
    seen = (drawn.items.astype(float) @ problem.mixture.T)[..., :2]
    best = []
    for rows in seen:
        scores = []
        for odd in range(4):
            same = [[float((i == odd) == (j == odd)) for j in range(4)] for i in range(4)]
            covariance = np.array(same) + 0.7**2 * np.eye(4)
            scores.append(-sum(column @ np.linalg.solve(covariance, column) for column in rows.T))
        best.append(int(np.argmax(scores)))
    assert problem.best(drawn.items).tolist() == best


def test_the_odd_one_is_of_another_kind_and_loudness_hides_it():
    clear, hidden = OddOneOut(noise=0.05, loud=0.0), OddOneOut()
    drawn = clear.draw(RNG(1), 200, 10)
    assert (farthest(drawn.items) == drawn.right[:, 0]).mean() > 0.99
    drawn = hidden.draw(RNG(1), 500, 10)
    assert (farthest(drawn.items) == drawn.right[:, 0]).mean() < 0.4
    assert (hidden.best(drawn.items) == drawn.right[:, 0]).mean() > 0.95
    assert np.bincount(drawn.right[:, 0], minlength=10).min() > 20
    said = [hidden.answer(int(right)) for right in drawn.right[:, 0]]
    assert all(odd in hidden.told(items) for odd, items in zip(said, drawn.items, strict=True))


def test_referents_are_of_the_kind_of_the_reason():
    problem = Referent()
    drawn = problem.draw(RNG(1), 300)
    for items, asked, right in zip(drawn.items, drawn.asked, drawn.right, strict=True):
        told = problem.told(items)
        assert told[asked[0]] == "it"
        why = told[told.index("too") + 1]
        kind = BEINGS if why in OF_BEINGS else PLACES
        assert [word for word in told if word in kind] == [problem.answer(right[0])]
    firsts = [next(word in BEINGS for word in problem.told(row) if word in BEINGS + PLACES) for row in drawn.items]
    assert 0.3 < np.mean(firsts) < 0.7


def test_no_pair_is_both_trained_on_and_measured_by():
    problem = Referent()

    def pairs(drawn) -> set[tuple[str, str]]:
        told = [problem.told(items) for items in drawn.items]
        return {
            (problem.answer(right[0]), row[row.index("too") + 1])
            for row, right in zip(told, drawn.right, strict=True)
        }

    trained, kept = pairs(problem.draw(RNG(1), 3000)), pairs(problem.held_out(RNG(1), 3000))
    assert not trained & kept
    assert {noun for noun, _ in trained} == {noun for noun, _ in kept} == {*BEINGS, *PLACES}
    assert {why for _, why in trained} == {why for _, why in kept}


def test_pairs_differ_in_the_reason_alone_and_masked_ones_in_nothing():
    problem = Referent()
    tired, wide = problem.pairs(3, 50)
    assert np.array_equal(tired.asked, wide.asked)
    assert ((tired.items != wide.items).sum((1, 2)) == 1).all()
    assert np.array_equal(problem.masked(tired).items, problem.masked(wide).items)
    assert all(problem.answer(a[0]) in BEINGS for a in tired.right)
    assert all(problem.answer(a[0]) in PLACES for a in wide.right)


def test_stories_answer_themselves_when_read():
    """Read as text, fact by fact, by somebody who follows who has what, and where."""
    problem, kinds = Story(), set()
    drawn = problem.draw(RNG(1), 200, 4)
    for items, right, hard in zip(drawn.items, drawn.right, drawn.hard, strict=True):
        *facts, question = problem.told(items)
        links = [
            fact.split(f" {say} ")
            for fact in facts
            for say in ("went to the", "took the", "is north of the")
            if say in fact
        ]
        assert len(links) == len(facts) == 12
        went = {who: where for fact, (who, where) in zip(facts, links, strict=True) if "went" in fact}
        has = {what: who for fact, (who, what) in zip(facts, links, strict=True) if "took" in fact}
        north = {
            where: who.removeprefix("the ")
            for fact, (who, where) in zip(facts, links, strict=True)
            if "north" in fact
        }
        ask = next(a for a in ASKS if question.startswith(f"{a} "))
        subject = question.removeprefix(f"{ask} ").removeprefix("the ").removesuffix("?")
        needed, beyond = 1, ask == ASKS[1]
        if subject in has:
            subject, needed = has[subject], needed + 1
        if subject in went:
            subject, needed = went[subject], needed + beyond
        assert problem.answer(right[0]) == (north[subject] if beyond else subject)
        assert hard[0] == needed
        kinds.add((needed, beyond))
    assert kinds == {(1, False), (1, True), (2, False), (3, True)}
    assert set(drawn.hard.ravel().tolist()) == {1, 2, 3}


def test_every_fact_that_is_needed_is_there_once():
    drawn = Story().draw(RNG(3), 50, 3)
    for items in drawn.items:
        assert len({tuple(fact) for fact in items.tolist()}) == len(items)


def test_a_switch_turns_its_lamp_and_all_that_follow():
    drawn = Switch().draw(RNG(3), 40, 7)
    for items, right in zip(drawn.items, drawn.right, strict=True):
        lamps = [False] * 7
        for place, switch in enumerate(Switch().told(items)[1:]):
            if switch == "1":
                lamps[place:] = [not lamp for lamp in lamps[place:]]
        assert right.tolist() == lamps
    assert Switch().told(drawn.items[0])[0] == "|"
    assert drawn.asked.tolist() == [list(range(1, 8))] * 40
