"""Points with arrows in the order they were pointed at, beside the right answer."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from regard.models.pointer import FIRST, Pointer
from regard.show.trace import Trace
from regard.tasks.pointing import PointingTask
from regard.text.ids import END, START

GOOD, BAD, GREY = "#2a78b5", "#d1495b", "#9aa0a6"
SEED = 7


Side = tuple[int, int, int]
"""From which point to which, and the step at which that is said."""


def sides(problem: str, answer: Sequence[int]) -> list[Side]:
    """What an answer joins: triangles, a row, or a way that ends where it began."""
    if problem == "delaunay":
        threes = [(at + 2, answer[at : at + 3]) for at in range(0, len(answer) - 2, 3)]
        return [(a, b, step) for step, corners in threes for a, b in itertools.combinations(corners, 2)]
    row = [(a, b, step) for step, (a, b) in enumerate(itertools.pairwise(answer), 1)]
    closes = problem != "sort" and len(answer) > 1
    return [*row, (answer[-1], answer[0], len(answer))] if closes else row


def in_a_plane(points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n 2"]:
    """Points as they are; of numbers, how large they are from left to right, and as they were given from above."""
    return np.stack((points[:, 0], np.linspace(1, 0, len(points))), 1) if points.shape[1] == 1 else points


def drawn(
    axes: Any, problem: str, points: np.ndarray, answer: Sequence[int], right: Sequence[int], title: str
) -> None:
    """One answer on a matplotlib axes: blue where it is right, red where it is not."""
    colour = GOOD if list(answer) == list(right) else BAD
    points = in_a_plane(points)
    way = {"arrowstyle": "-" if problem == "delaunay" else "-|>", "color": colour, "shrinkA": 4, "shrinkB": 4}
    for a, b, _ in sides(problem, answer):
        axes.annotate("", points[b], points[a], arrowprops={**way, "linewidth": 1.3})
    axes.scatter(*points.T, s=26, color="black", zorder=3)
    away = points - points.mean(0)  # where the fewest arrows are
    away = 9 * away / np.maximum(1e-9, np.hypot(*away.T))[:, None]
    for number, (point, side) in enumerate(zip(points, away, strict=True)):
        axes.annotate(
            str(number), point, side, textcoords="offset points", ha="center", va="center", fontsize=7, color=GREY
        )
    axes.set(xlim=(-0.12, 1.12), ylim=(-0.12, 1.12), xticks=[], yticks=[], aspect="equal")
    axes.set_title(title, fontsize=9, color="black" if colour == GOOD else BAD)


def pictured(figure: Any, task: PointingTask, model: nn.Module) -> None:
    """What was pointed at, above; the right answers, below."""
    figure.set_size_inches(11, 5)
    some = task.problem.draw(np.random.default_rng(SEED), 5, task.data.largest)
    said = task.answers(cast(Pointer, model), some, task.search)
    right = [answer.tolist() for answer in task.problem.solve(some)]
    if task.problem.width == 1:
        figure.supxlabel("from left to right: how large; from above: as they were given", fontsize=8, color=GREY)
    axes = figure.subplots(2, 5)
    for column, (given, ours, theirs) in enumerate(zip(some, said, right, strict=True)):
        drawn(axes[0, column], task.problem.name, given, ours, theirs, "pointed at")
        drawn(axes[1, column], task.problem.name, given, theirs, theirs, "right")


def looks(task: PointingTask, model: nn.Module) -> list[Trace]:
    """Which points were weighed at each step, and what has been joined by then, beside what is right."""
    some = task.problem.draw(np.random.default_rng(SEED), 4, task.data.largest)
    said, right = task.answers(cast(Pointer, model), some, task.search), task.problem.solve(some)
    return [
        _pointed(task.problem.name, cast(Pointer, model), *one)
        for one in zip(some, said, (each.tolist() for each in right), strict=True)
    ]


def _pointed(problem: str, model: Pointer, points: np.ndarray, said: Sequence[int], right: Sequence[int]) -> Trace:
    before = torch.tensor([[START, *(number + FIRST for number in said)]])
    scores = model(torch.tensor(points[None], dtype=torch.float32), torch.tensor([len(points)]), before)
    weights = scores[0].softmax(-1)[:, [END, *range(FIRST, scores.shape[-1])]]
    plane = in_a_plane(points)
    outside = plane.min(0) - (0, 0.12)  # the sign that ends the answer
    asked = [f"step {at + 1}: {number}" for at, number in enumerate([*said, "end"])]
    note = "The larger, the more weight; what is joined so far, beside what is right."
    told = {
        "title": "As it should be" if list(said) == list(right) else "Not as it should be", "note": note,
        "places": [outside.tolist(), *plane.tolist()], "arrows": problem != "delaunay",
        "sides": {name: [(a + 1, b + 1, step) for a, b, step in sides(problem, answer)]
                  for name, answer in (("said", said), ("right", right))},
    }  # fmt: skip
    return Trace("pointing", weights, asked, ["end", *map(str, range(len(points)))], kind="points", about=told)
