"""Problems on tapes: the right output follows from the input by a rule that is checked here by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from regard.systems.tape import TapeRecipe
from regard.tasks.settings import TapeData
from regard.tasks.tapes import Copy, Ngrams, Priority, Recall, Repeat, TapeProblem
from regard.tasks.taping import problem_of

RNG = np.random.default_rng
EVERY: list[tuple[TapeProblem, int]] = [
    (Copy(4), 5),
    (Repeat(4), 3),
    (Recall(4), 4),
    (Ngrams(), 30),
    (Priority(4), 10),
]


@pytest.mark.parametrize(("problem", "size"), EVERY, ids=lambda value: type(value).__name__)
def test_shapes_are_as_said_and_draws_repeat(problem, size):
    drawn, again = (problem.draw(RNG(1), 6, size) for _ in range(2))
    assert drawn.inputs.shape == (6, len(drawn.asked), problem.inputs)
    assert drawn.outputs.shape == (6, len(drawn.asked), problem.outputs)
    assert np.array_equal(drawn.inputs, again.inputs)
    assert np.array_equal(drawn.outputs, again.outputs)
    assert drawn.asked.any()


def test_copy_says_what_was_shown_after_its_end():
    drawn = Copy(3).draw(RNG(1), 2, 4)
    assert np.array_equal(drawn.outputs[:, 5:], drawn.inputs[:, :4, :3])
    assert drawn.inputs[:, :, 3].tolist() == [[0, 0, 0, 0, 1, 0, 0, 0, 0]] * 2
    assert drawn.asked.tolist() == [False] * 5 + [True] * 4
    assert not drawn.inputs[:, 5:].any(), "nothing is shown while it is said"


def test_repeat_says_it_so_many_times_and_then_an_end():
    drawn = Repeat(3, most=10).draw(RNG(1), 2, 4, times=3)
    seen = drawn.inputs[:, :4, :3]
    assert np.array_equal(drawn.outputs[:, 6:18, :3], np.concatenate([seen] * 3, 1))
    assert drawn.outputs[:, -1].tolist() == [[0, 0, 0, 1]] * 2
    assert drawn.asked.sum() == 13
    numbers = [Repeat(3, 10).draw(RNG(1), 1, 4, times).inputs[0, 5, -1] for times in range(1, 11)]
    assert np.mean(numbers) == pytest.approx(0, abs=1e-6)
    assert np.std(numbers) == pytest.approx(1, abs=1e-6)


def test_recall_says_what_followed_the_item_asked_for():
    problem = Recall(bits=5, length=2)
    drawn = problem.draw(RNG(3), 20, 4)
    for inputs, outputs in zip(drawn.inputs, drawn.outputs, strict=True):
        items = [inputs[at * 3 + 1 : at * 3 + 3, :5].tolist() for at in range(4)]
        asked = inputs[13:15, :5].tolist()
        followers = [items[at + 1] for at in range(3) if items[at] == asked]
        assert outputs[-2:].tolist() in followers


def test_priority_says_the_highest_in_order():
    drawn = Priority(bits=5, share=0.5).draw(RNG(3), 10, 8)
    for inputs, outputs in zip(drawn.inputs, drawn.outputs, strict=True):
        order = sorted(range(8), key=lambda at: -inputs[at, 5])[:4]
        assert outputs[-4:].tolist() == inputs[order, :5].tolist()


def test_the_best_guess_of_ngrams_is_by_counting():
    """By hand for one sequence, and near the paper's optimum: about 131 bits of 200 for five bits before."""
    drawn = Ngrams(context=2).draw(RNG(5), 1, 40)
    bits = drawn.outputs[0, :, 0].astype(int).tolist()
    assert drawn.inputs[0, :, 0].tolist() == [0, *bits[:-1]]
    seen: dict[tuple[int, ...], list[int]] = {}
    total = 2 * math.log(2)
    for t in range(2, 40):
        counts = seen.setdefault(tuple(bits[t - 2 : t]), [0, 0])
        total -= math.log((counts[bits[t]] + 0.5) / (sum(counts) + 1))
        counts[bits[t]] += 1
    assert drawn.best is not None
    assert drawn.best[0] == pytest.approx(total)
    paper = Ngrams().draw(RNG(1), 1000, 200).best
    assert paper is not None
    assert 131 < paper.mean() / math.log(2) < 133


def test_a_recipe_says_how_far_back_ngrams_look():
    assert problem_of(TapeData(problem="ngrams", context=3)) == Ngrams(3)
    with pytest.raises(ValueError, match="below 5, the smallest size of ngrams"):
        TapeRecipe(about="", data=TapeData(problem="ngrams", context=3, smallest=4)).complete()
