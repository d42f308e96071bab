"""The task of pointing: batches that can be named, split and drawn again, and a model that learns."""

from __future__ import annotations

import math

import pytest
import torch

from regard.models.pointer import FIRST
from regard.models.settings import PointerModel
from regard.search.settings import Search
from regard.tasks.pointing import PointingTask
from regard.tasks.settings import PointData
from regard.text.ids import END, START


def task(problem: str = "sort", smallest: int = 3, largest: int = 4, **data) -> PointingTask:
    given = PointData(problem=problem, smallest=smallest, largest=largest, rows=32, held_out_rows=20, **data)
    return PointingTask(given, PointerModel(width=24), Search(beam=1, length_penalty=0.0), seed=1)


def test_a_batch_is_the_same_whenever_it_is_drawn_and_parts_are_the_whole():
    here = task("tour", 4, 6)
    which = here.batches(2)[7]
    whole, again = here.load(which), here.load(which)
    assert torch.equal(whole.points, again.points)
    parts = here.split(which, 3)
    assert sum(map(here.units, parts)) == here.units(which) == 32
    assert torch.equal(torch.cat([here.load(part).points for part in parts]), whole.points)
    assert not torch.equal(here.load(here.batches(3)[7]).points[:, 0], whole.points[:, 0])


def test_answers_begin_with_start_and_end_with_stop():
    batch = task("hull", 5, 5).load(task("hull", 5, 5).batches(0)[0])
    assert bool((batch.before[:, 0] == START).all())
    for before, after in zip(batch.before.tolist(), batch.after.tolist(), strict=True):
        ended = after.index(END)
        assert before[1 : ended + 1] == after[:ended]
        assert set(after[ended + 1 :]) <= {0}
        assert min(after[:ended]) >= FIRST


@pytest.mark.parametrize("problem", ["sort", "hull", "tour", "delaunay"])
def test_every_problem_has_a_loss_a_measure_and_samples(problem):
    here = task(problem, 4, 5, tested=(7,))
    torch.manual_seed(1)
    model = here.build()
    loss = here.loss(model, here.load(here.batches(0)[0]), "model")
    loss.total.backward()
    assert all(weight.grad is not None for weight in model.parameters())
    model.eval()
    found = here.final(model)
    assert list(found) == ["n=4", "n=5", "n=7"]
    assert all(0 <= one["exact"] <= 1 for one in found.values())
    assert here.samples(model).count(">") == 8


def test_too_large_a_problem_is_measured_without_a_right_answer():
    here = task("tour", 4, 4, tested=(14,))
    found = here.scores(here.build().eval(), 14, 5, here.search)
    assert math.isnan(found["exact"])
    assert found["length"] > 3
    assert found["no length"] == 0.0


def test_it_learns_to_sort_three_numbers():
    here = task("sort", 3, 3)
    torch.manual_seed(1)
    model = here.build()
    rule = torch.optim.Adam(model.parameters(), 0.01)
    for which in (here.batches(0) + here.batches(1))[:150]:
        rule.zero_grad()
        (here.loss(model, here.load(which), "model").total / 32).backward()
        rule.step()
    assert here.measure(model.eval())["exact"] > 0.9
