"""Pictures of labels: drawn for every problem, from weights that were watched."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from regard.models.labeller import Labeller, build_labeller
from regard.models.labeller_settings import LayersModel, PonderingModel
from regard.show.labels import labelling, traces
from regard.show.labels import looks as looked
from regard.show.system import picture
from regard.tasks.label_measures import looks
from regard.tasks.labelling import Labelling, Sizes
from regard.tasks.labels import LabelProblem
from regard.tasks.odd_pictures import Drawings
from regard.tasks.problems import problem_of


def task_of(name: str, ponders: bool = False) -> Labelling:
    small = {"width": 16, "heads": 2, "feedforward": 16}
    settings = PonderingModel(**small, most=4, eager=-0.5) if ponders else LayersModel(**small)

    def build(problem: LabelProblem) -> Labeller:
        return build_labeller(settings, problem.words, problem.features, problem.classes, problem.side)

    return Labelling(problem_of(name, Drawings(side=7)), build, Sizes(4, 4, rows=4), 1)


def test_traces_are_what_was_watched_and_labelled():
    task = task_of("referent")
    torch.manual_seed(1)
    model, drawn = task.build().eval(), task.problem.held_out(np.random.default_rng(1), 1, 0)
    words = task.problem.told(drawn.items[0])
    _, found = traces(model, drawn, words)
    seen = looks(model, drawn)
    assert [(trace.layer, trace.head) for trace in found] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    for trace in found:
        assert torch.equal(trace.weights, seen[trace.layer][0, trace.head])
        assert list(trace.keys) == list(trace.queries) == words


@pytest.mark.parametrize("name", ["mirror", "copy", "referent", "odd", "odd-picture", "max"])
def test_every_problem_is_drawn(name, tmp_path):
    task = task_of(name)
    picture(task, task.build(), tmp_path / "one.png")
    assert (tmp_path / "one.png").stat().st_size > 5000


@pytest.mark.parametrize("name", ["story", "sum"])
def test_bars_are_as_long_as_was_pondered(name):
    task = task_of(name, ponders=True)
    torch.manual_seed(2)
    model, figure = task.build().eval(), Figure()
    with torch.no_grad():
        labelling(figure, task, model)
    drawn = task.problem.held_out(np.random.default_rng(7), 200, 4)
    easiest = int((drawn.hard.max(1) == drawn.hard.max(1).min()).argmax())
    one = drawn.some(easiest, easiest + 1)
    with torch.no_grad():
        steps = model(torch.from_numpy(one.items), torch.from_numpy(one.asked)).pondered.steps[0]
    bars = figure.axes[0].patches
    assert len(bars) == int(steps.sum())
    longest = {round(bar.get_y() + 0.4): bar.get_x() + 1 for bar in bars}
    assert [longest[place] for place in range(len(steps))] == steps.tolist()


def test_thought_comes_before_looks_where_its_length_differs():
    task = task_of("story", ponders=True)
    torch.manual_seed(2)
    model = task.build().eval()
    with torch.no_grad():
        found = looked(task, model)
    bars = [trace for trace in found if trace.kind == "ponder"]
    assert [trace.about["title"] for trace in bars] == [f"Steps of thought, facts {count}" for count in (1, 2, 3)]
    for trace in bars:
        taken = (trace.weights > 0).sum(1).tolist()
        assert taken == trace.about["steps"]
        assert trace.weights.sum(1).tolist() == pytest.approx([1.0] * len(taken), abs=1e-5)
        assert trace.queries[trace.about["asked"][0]].endswith("?")
    same = task_of("referent")
    assert {trace.kind for trace in looked(same, same.build().eval())} == {"text"}
