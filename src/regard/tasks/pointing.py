"""Pointing: problems whose answer is an order of their own inputs, for a model that points at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.models.pointer import FIRST, Pointer, build_pointer
from regard.models.settings import PointerModel
from regard.search.beam import search
from regard.search.settings import Search
from regard.tasks.drawn import HELD_OUT, Endless, Some
from regard.tasks.given_points import Answered, Cities, given
from regard.tasks.points import PROBLEMS, Answers, Points
from regard.tasks.settings import PointData
from regard.tasks.task import Loss
from regard.text.batch import padded
from regard.text.ids import END, START
from regard.text.places import located


@dataclass(frozen=True)
class Pointed:
    """Problems as tensors: the points, and the words before and after each step."""

    points: Float[Tensor, "b n d"]
    before: Int[Tensor, "b t"]
    after: Int[Tensor, "b t"]

    @property
    def lengths(self) -> Int[Tensor, " b"]:
        return torch.full((len(self.points),), self.points.shape[1])


class PointingTask(Endless):
    """Learn to answer problems of `data.smallest ... data.largest` points; fresh ones every epoch."""

    drawn_by, looked_by = "points:pictured", "points:looks"
    examples = "problems"
    best_by, best_is_highest = "exact", True

    def __init__(self, data: PointData, model: PointerModel, search: Search, seed: int) -> None:
        super().__init__(data.rows, seed)
        self.data, self.model, self.search = data, model, search
        self.problem = PROBLEMS[data.problem]

    def prepare(self, folder: Path) -> None:
        """Problems are drawn as they are needed; those of a file are read, so that a damaged one is found now."""
        len(self.given)

    def build(self) -> Pointer:
        return build_pointer(self.model, self.problem.width, self.problem.order)

    def about(self) -> str:
        data = self.data
        return f"fresh problems ({data.problem}) of {data.smallest} to {data.largest} points, {data.rows} a batch"

    def load(self, which: Some) -> Pointed:
        points, answers = self.drawn((self.seed, which.epoch, which.batch), self.data.rows)
        return pointed(points[which.first : which.after], answers[which.first : which.after])

    def loss(self, model: nn.Module, batch: Pointed, player: str) -> Loss:
        """Negative log-likelihood of the right answers, summed over problems."""
        scores = cast(Pointer, model)(batch.points, batch.lengths, batch.before)
        total = F.cross_entropy(scores.flatten(0, 1), batch.after.flatten(), ignore_index=0, reduction="sum")
        return Loss(total, {"loss": float(total.detach())})

    def measure(self, model: nn.Module) -> dict[str, float]:
        """Greedy answers to problems of every size that is trained on."""
        greedy = self.search.model_copy(update={"beam": 1})
        sizes = range(self.data.smallest, self.data.largest + 1)
        found = [self.scores(cast(Pointer, model), size, 512 // len(sizes) + 1, greedy) for size in sizes]
        return {name: _mean([one[name] for one in found]) for name in found[0]}

    def final(self, model: nn.Module) -> dict[str, dict[str, float]]:
        """Every size that is trained on, those of `data.tested`, and problems of a file, by the whole search."""
        pointer = cast(Pointer, model)
        sizes = sorted({*range(self.data.smallest, self.data.largest + 1), *self.data.tested})
        found = {f"n={n}": self.scores(pointer, n, self.data.held_out_rows, self.search) for n in sizes}
        for some in self.given:
            found |= self._answered(pointer, some) if isinstance(some, Answered) else self._travelled(pointer, some)
        return found

    @cached_property
    def given(self) -> Sequence[Answered | Cities]:
        """Problems of a file; if it cannot be one of this problem, that is said before anything is trained."""
        if self.data.test_problems is None:
            return []
        file = located(self.data.test_problems)
        found = given(file)
        fits = self.data.problem == "tour" if isinstance(found[0], Cities) else self.problem.width == 2
        if not fits:
            raise ValueError(f"{file} has no problems of the kind data.problem = '{self.data.problem}'; leave it out")
        return found

    def scores(self, model: Pointer, size: int, count: int, settings: Search) -> dict[str, float]:
        """How good answers to unseen problems are: the share that is exact, and the problem's own figures.

        Where a problem is too large to be solved, only those of its figures that need no right answer are told.
        """
        points = self.problem.draw(np.random.default_rng((HELD_OUT, size)), count, size)
        solved = size <= self.problem.largest
        right = self.problem.solve(points) if solved else [np.zeros(0, int)] * count
        said = self.answers(model, points, settings)
        return {"exact": _exact(right, said) if solved else float("nan"), **self._figures(points, said, right)}

    def _answered(self, model: Pointer, some: Answered) -> dict[str, dict[str, float]]:
        """How good answers are to problems of one size whose right answers came with them."""
        said = self.answers(model, some.points, self.search)
        figures = {"exact": _exact(some.right, said), **self._figures(some.points, said, some.right)}
        return {f"given, n={some.points.shape[1]}": figures}

    def _travelled(self, model: Pointer, cities: Cities) -> dict[str, dict[str, float]]:
        """How long a round trip becomes, beside the best, and one from city to the nearest that is left."""
        (way,) = self.answers(model, cities.within_a_square()[None], self.search)
        length, best = cities.length(way), cities.best
        over = {"over the best": length / best, "the nearest next, over the best": cities.by_the_nearest() / best}
        return {cities.name: {"length": length, "best": best, **over}}

    def _figures(self, points: Points, said: Sequence[list[int]], right: Answers) -> dict[str, float]:
        """Means over the answers that can be measured at all, and the share of those that cannot."""
        found: dict[str, float] = {}
        for name, measure in self.problem.measures.items():
            values = np.array([measure(p, a, r) for p, a, r in zip(points, said, right, strict=True)])
            found |= {name: _mean(values), f"no {name}": float(np.isnan(values).mean())}
        return found

    def answers(self, model: Pointer, points: Points, settings: Search) -> list[list[int]]:
        """What the model points at, problem by problem."""
        given = torch.tensor(points, dtype=torch.float32)
        found: list[list[int]] = []
        for some in given.split(256):
            lengths = torch.full((len(some),), some.shape[1])
            found += [[word - FIRST for word in row[0].words] for row in search(model, some, lengths, settings)]
        return found

    def drawn(self, seed: Sequence[int], count: int) -> tuple[Points, Answers]:
        """Problems of one size, drawn from those trained on, with their answers."""
        rng = np.random.default_rng(seed)
        points = self.problem.draw(rng, count, int(rng.integers(self.data.smallest, self.data.largest + 1)))
        return points, self.problem.solve(points)

    def samples(self, model: nn.Module) -> str:
        points = self.problem.draw(np.random.default_rng(HELD_OUT - 1), 8, self.data.largest)
        said, right = self.answers(cast(Pointer, model), points, self.search), self.problem.solve(points)
        return "".join(
            f"{' '.join(map(str, a))}\n  > {' '.join(map(str, b))}\n" for a, b in zip(right, said, strict=True)
        )


def _mean(values: Sequence[float] | np.ndarray) -> float:
    """Of those that are numbers; none where none is."""
    return float(np.nanmean(values)) if not np.isnan(values).all() else float("nan")


def _exact(right: Answers, said: Sequence[list[int]]) -> float:
    """The share of answers that are right."""
    return float(np.mean([list(a) == b for a, b in zip(right, said, strict=True)]))


def pointed(points: Points, answers: Answers) -> Pointed:
    """Problems and answers as a model learns from them."""
    words = padded([np.asarray(answer, np.int64) + FIRST for answer in answers])
    after = np.pad(words, ((0, 0), (0, 1)))
    after[np.arange(len(answers)), [len(answer) for answer in answers]] = END
    before = np.pad(words, ((0, 0), (1, 0)), constant_values=START)
    return Pointed(torch.tensor(points, dtype=torch.float32), torch.from_numpy(before), torch.from_numpy(after))
