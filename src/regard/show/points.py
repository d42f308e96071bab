"""Points with arrows in the order they were pointed at, beside the right answer."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from torch import nn

from regard.models.pointer import Pointer
from regard.tasks.pointing import PointingTask
from regard.tasks.points import triangles

GOOD, BAD, GREY = "#2a78b5", "#d1495b", "#9aa0a6"
SEED = 7


def drawn(
    axes: Any, problem: str, points: np.ndarray, answer: Sequence[int], right: Sequence[int], title: str
) -> None:
    """One answer on a matplotlib axes: blue where it is right, red where it is not."""
    colour = GOOD if list(answer) == list(right) else BAD
    if points.shape[1] == 1:  # numbers: their places in the answer, from left to right
        points = np.stack((points[:, 0], np.zeros(len(points))), 1)
    match problem:
        case "delaunay":
            for corners in triangles(answer):
                axes.fill(*points[list(corners)].T, facecolor="none", edgecolor=colour, linewidth=1.2)
        case "sort":
            for a, b in itertools.pairwise(answer):
                _arrow(axes, points[a], points[b], colour, bend=-0.6)
        case _:
            for a, b in zip(answer, [*answer[1:], *answer[:1]], strict=True):
                _arrow(axes, points[a], points[b], colour)
    axes.scatter(*points.T, s=26, color="black", zorder=3)
    away = np.array([[0, -1]]) if problem == "sort" else points - points.mean(0)  # where no arrow is
    away = 9 * away / np.maximum(1e-9, np.hypot(*away.T))[:, None]
    for number, (point, side) in enumerate(zip(points, np.broadcast_to(away, points.shape), strict=True)):
        axes.annotate(
            str(number), point, side, textcoords="offset points", ha="center", va="center", fontsize=7, color=GREY
        )
    axes.set(xlim=(-0.09, 1.09), ylim=(-0.5, 0.5) if problem == "sort" else (-0.09, 1.09), xticks=[], yticks=[])
    axes.set_title(title, fontsize=9, color="black" if colour == GOOD else BAD)
    if problem != "sort":
        axes.set_aspect("equal")


def _arrow(axes: Any, start: np.ndarray, end: np.ndarray, colour: str, bend: float = 0.0) -> None:
    way = {"arrowstyle": "-|>", "color": colour, "shrinkA": 4, "shrinkB": 4, "linewidth": 1.3}
    axes.annotate("", end, start, arrowprops=way | {"connectionstyle": f"arc3,rad={bend}"})


def pictured(figure: Any, task: PointingTask, model: nn.Module) -> None:
    """What was pointed at, above; the right answers, below."""
    figure.set_size_inches(11, 5 if task.problem.width > 1 else 3)
    some = task.problem.draw(np.random.default_rng(SEED), 5, task.data.largest)
    said = task.answers(cast(Pointer, model), some, task.search)
    right = [answer.tolist() for answer in task.problem.solve(some)]
    axes = figure.subplots(2, 5)
    for column, (given, ours, theirs) in enumerate(zip(some, said, right, strict=True)):
        drawn(axes[0, column], task.problem.name, given, ours, theirs, "pointed at")
        drawn(axes[1, column], task.problem.name, given, theirs, theirs, "right")
