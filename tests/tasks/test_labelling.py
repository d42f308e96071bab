"""The task of labelling: what its loss is, what a price does, and figures that are found by hand as well."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from regard.models.labeller import Labelled, Labeller
from regard.models.pondering import Pondered
from regard.recipe import load, with_overrides
from regard.systems.labelling import LabelRecipe
from regard.systems.system import Here
from regard.tasks.label_measures import (
    by_hardness,
    in_any_order,
    look_of_it,
    looks,
    moves,
    opposite,
    rank_correlation,
    referents,
    rollout,
    shuffled,
    without_the_reason,
)
from regard.tasks.labelling import Labelling, answered, asked, scored
from regard.tasks.labels import Drawn

TINY = ["--model.width", "16", "--model.heads", "2", "--model.feedforward", "16", "--data.rows", "6"]


def task_of(name: str, *options: str) -> Labelling:
    recipe = with_overrides(load(name), [*TINY, "--data.held-out-rows", "40", *options])
    assert isinstance(recipe, LabelRecipe)
    return recipe.make(Here())


def model_of(task: Labelling) -> Labeller:
    torch.manual_seed(3)
    return task.build().eval()


def test_the_loss_is_surprise_and_what_thought_costs():
    task = task_of("stories", "--model.price", "0.25")
    model, batch = model_of(task), task.load(task.batches(0)[0])
    found = model(batch.items, batch.asked)
    surprise = -F.log_softmax(found.scores, -1)[torch.arange(6), 0, batch.right[:, 0]].sum()
    cost = found.pondered.cost.mean(1).sum()
    loss = task.loss(model, batch, "model")
    torch.testing.assert_close(loss.total, surprise + 0.25 * cost)
    assert loss.figures["loss"] == pytest.approx(float(surprise.detach()), rel=1e-5)


def test_parts_of_a_batch_sum_to_it():
    task = task_of("reverse")
    model, which = model_of(task), task.batches(0)[3]
    whole = task.loss(model, task.load(which), "model").total
    parts = [task.loss(model, task.load(part), "model").total for part in task.split(which, 3)]
    assert sum(task.units(part) for part in task.split(which, 3)) == task.units(which)
    torch.testing.assert_close(sum(parts), whole)


def test_places_are_shifted_in_training_alone():
    shifted = task_of("reverse", "--data.shift", "30")
    assert len({shifted.load(which).at for which in shifted.batches(0)[:20]}) > 5


class Knows(torch.nn.Module):
    """Says what it was told to, and thinks as long."""

    def __init__(self, right: np.ndarray, steps: np.ndarray, classes: int) -> None:
        super().__init__()
        self.right, self.thinks, self.classes = right, steps, classes

    def forward(self, items, asked, scope=None, at=0):
        scores = F.one_hot(torch.from_numpy(self.right), self.classes).float()
        steps = torch.from_numpy(self.thinks).float()
        return Labelled(
            scores, Pondered(torch.zeros(*steps.shape, 1), steps[..., None], steps, torch.ones_like(steps))
        )


def test_scores_are_counted():
    drawn = Drawn(np.zeros((2, 3, 1), int), np.array([[0, 1], [0, 1]]), np.array([[1, 2], [3, 4]]))
    said = np.array([[1, 2], [3, 0]])
    found = scored(Knows(said, np.array([[1, 2, 3], [4, 4, 4]]), 5), drawn)
    assert (found["right"], found["exact"], found["steps"]) == (0.75, 0.5, 3.0)
    wrong, right = (-np.log(np.exp([x, 1 - x])[0] / (4 * 1 + np.e)) for x in (0, 1))
    assert found["loss"] == pytest.approx((3 * right + wrong) / 4)


def test_steps_are_told_by_hardness():
    task = task_of("stories")
    drawn = task.problem.held_out(np.random.default_rng((2**31, 3)), 40, 3)
    steps = np.ones((40, 10), int)
    steps[:, -1] = drawn.hard[:, 0] + 2
    found = by_hardness(task, Knows(drawn.right, steps, 8))
    assert [found[f"facts={n}"]["steps where asked"] for n in (1, 2, 3)] == [3, 4, 5]
    assert [found[f"facts={n}"]["right"] for n in (1, 2, 3)] == [1, 1, 1]
    assert found["facts=2"]["steps"] == pytest.approx(13 / 10)
    assert found["steps and hardness"]["rank correlation"] == pytest.approx(1)


def test_rank_correlation_by_hand():
    """Ranks 1, 2.5, 2.5, 4 and 1, 3, 2, 4: 4.5 / √(4.5 · 5)."""
    assert rank_correlation(np.array([1, 2, 2, 9]), np.array([0.1, 5, 3, 7])) == pytest.approx(4.5 / 22.5**0.5)
    assert rank_correlation(np.arange(9), -(np.arange(9) ** 3)) == pytest.approx(-1)
    assert rank_correlation(np.arange(4), np.ones(4)) == 0


@torch.no_grad()
def test_the_mass_of_the_anti_diagonal_is_what_is_seen_there():
    task = task_of("reverse", "--data.smallest", "5", "--data.largest", "5")
    model = model_of(task)
    weights = looks(model, task.problem.held_out(np.random.default_rng((2**31, 5)), 500, 5))[-1].numpy()
    by_hand = np.mean([weights[:, :, place, 4 - place] for place in range(5)])
    assert opposite(task, model)["size=5"]["anti-diagonal"] == pytest.approx(float(by_hand), rel=1e-5)


@pytest.mark.parametrize("name", ["set-max", "odd-one-out"])
@torch.no_grad()
def test_sets_in_another_order_have_the_same_answer(name):
    task = task_of(name)
    model = model_of(task)
    assert all(scores["changed by order"] < 1e-5 for scores in in_any_order(task, model).values())
    drawn = task.problem.draw(np.random.default_rng(1), 20, 6)
    moved, order = shuffled(task.problem, drawn)
    assert (order != np.arange(order.shape[1])).any()
    if name == "odd-one-out":
        rows = np.arange(20)
        assert np.array_equal(moved.items[rows, moved.right[:, 0]], drawn.items[rows, drawn.right[:, 0]])
    else:
        assert np.array_equal(np.sort(moved.items, 1), np.sort(drawn.items, 1))


@torch.no_grad()
def test_order_changes_answers_where_places_are_known():
    task = task_of("set-max", "--model.places", "sinusoid")
    assert max(scores["changed by order"] for scores in in_any_order(task, model_of(task)).values()) > 1e-4


@torch.no_grad()
def test_what_it_has_of_a_noun_counts_detours():
    task = task_of("referent")
    model = model_of(task)
    tired, _ = task.problem.pairs(5, 7)
    weights = np.eye(12)[None]
    for layer in looks(model, tired):
        weights = (0.5 * layer.numpy().mean(1) + 0.5 * np.eye(12)) @ weights
    torch.testing.assert_close(rollout(looks(model, tired)).sum(-1), torch.ones(7, 12))
    found = look_of_it(model, tired, referents(tired))
    for row, items in enumerate(tired.items[..., 0].tolist()):
        place = items.index(int(tired.right[row, 0]))
        assert found[row] == pytest.approx(float(weights[row, tired.asked[row, 0], place]))
    figures = moves(task, model)["pairs"]
    assert 0 <= figures["moves"] <= 1
    assert 0 <= figures["rests on the right one"] <= 1
    assert without_the_reason(task, model)["without the reason"].keys() == {"right", "exact", "loss", "steps"}


def test_answers_can_be_read():
    task = task_of("stories")
    said = task.samples(model_of(task))
    assert said.count("\n  > ") == 4
    assert "?" in said
    batch = asked(task.problem.draw(np.random.default_rng(1), 2, 4))
    assert answered(model_of(task), task.problem.draw(np.random.default_rng(1), 2, 4)).scores.shape == (2, 1, 8)
    assert batch.at == 0


def test_sizes_that_a_problem_has_not_are_refused():
    recipe = with_overrides(load("stories"), ["--data.largest", "9"])
    with pytest.raises(ValueError, match="sizes of story"):
        recipe.complete()
