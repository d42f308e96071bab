"""Labelling: learn to answer at places of a row, or about a set, and what each place may cost in thought."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.models.labeller import Labelled, Labeller
from regard.tasks.drawn import HELD_OUT, Endless, Some
from regard.tasks.labels import Drawn, LabelProblem
from regard.tasks.task import Loss


@dataclass(frozen=True)
class Asked:
    """Examples as tensors, the first item standing at place `at`."""

    items: Int[Tensor, "b n w"] | Float[Tensor, "b n d"]
    asked: Int[Tensor, "b a"]
    right: Int[Tensor, "b t"]
    at: int = 0


@dataclass(frozen=True)
class Sizes:
    """What is drawn: sizes that are trained on, others that are tested, and how many of each."""

    smallest: int
    largest: int
    tested: tuple[int, ...] = ()
    rows: int = 128
    held_out_rows: int = 1000
    shift: int = 0
    """In training the first item stands somewhere from 0 to this."""

    @property
    def measured(self) -> list[int]:
        return sorted({self.smallest, self.largest, *self.tested})


Scores = dict[str, float]
Measure = Callable[["Labelling", Labeller], Mapping[str, Scores]]
"""What counts besides being right: figures by set, of those measured anyway or of others."""


class Labelling(Endless):
    """Learn the answers of a problem; fresh examples every epoch. `price` is what a step of thought costs (τ)."""

    drawn_by, looked_by = "labels:labelling", "labels:looks"

    def __init__(
        self, problem: LabelProblem, build: Callable[[LabelProblem], Labeller], sizes: Sizes, seed: int,
        price: float = 0.0, measures: Sequence[Measure] = (),
    ) -> None:  # fmt: skip
        super().__init__(sizes.rows, seed)
        self.problem, self.builds, self.sizes = problem, build, sizes
        self.price, self.measures = price, measures

    def build(self) -> Labeller:
        return self.builds(self.problem)

    def about(self) -> str:
        sizes = self.sizes
        name = type(self.problem).__name__
        return f"fresh examples ({name}) of size {sizes.smallest} to {sizes.largest}, {sizes.rows} a batch"

    def load(self, which: Some) -> Asked:
        rng = self.dice(which)
        size = int(rng.integers(self.sizes.smallest, self.sizes.largest + 1))
        at = int(rng.integers(0, self.sizes.shift + 1))
        return asked(self.problem.draw(rng, self.sizes.rows, size).some(which.first, which.after), at)

    def loss(self, model: nn.Module, batch: Asked, player: str) -> Loss:
        """Negative log-likelihood of right answers, and the price of thought, each a mean over places; a sum of rows.

        Thought is paid for at every place, whether or not it is asked.
        """
        found = cast(Labeller, model)(batch.items, batch.asked, at=batch.at)
        surprise = F.cross_entropy(found.scores.flatten(0, 1), batch.right.flatten(), reduction="sum")
        surprise = surprise / batch.right.shape[1]
        cost = found.pondered.cost.mean(1).sum()
        steps = float(found.pondered.steps.mean(1).sum())
        total = surprise + self.price * cost if self.price else surprise
        return Loss(total, {"loss": float(surprise.detach()), "steps": steps})

    def measure(self, model: nn.Module) -> dict[str, float]:
        """Fresh examples of the kind that is trained on: the smallest, a middle and the largest size."""
        sizes = sorted({self.sizes.smallest, (self.sizes.smallest + self.sizes.largest) // 2, self.sizes.largest})
        drawn = [self.problem.draw(np.random.default_rng((HELD_OUT + 1, size)), 256, size) for size in sizes]
        found = [scored(cast(Labeller, model), some) for some in drawn]
        return {name: float(np.mean([one[name] for one in found])) for name in found[0]}

    def final(self, model: nn.Module) -> dict[str, dict[str, float]]:
        """Every size, and what is measured of this problem besides."""
        labeller = cast(Labeller, model)
        found = {f"size={size}": scored(labeller, self.held_out(size)) for size in self.sizes.measured}
        for measure in self.measures:
            for name, figures in measure(self, labeller).items():
                found[name] = found.get(name, {}) | figures
        return found

    def held_out(self, size: int, count: int | None = None) -> Drawn:
        """Examples that nothing was chosen by; as many as are tested at the end, unless said."""
        return self.problem.held_out(np.random.default_rng((HELD_OUT, size)), count or self.sizes.held_out_rows, size)

    def samples(self, model: nn.Module) -> str:
        drawn = self.problem.held_out(np.random.default_rng(HELD_OUT - 1), 4, self.sizes.largest)
        said = answered(cast(Labeller, model), drawn).scores.argmax(-1).numpy()
        lines = []
        for items, right, ours in zip(drawn.items, drawn.right, said, strict=True):
            wanted, found = (" ".join(map(self.problem.answer, labels)) for labels in (right, ours))
            lines.append(f"{' '.join(self.problem.told(items))}\n  = {wanted}\n  > {found}\n")
        return "".join(lines)


def asked(drawn: Drawn, at: int = 0) -> Asked:
    """Examples as tensors."""
    items, places, right = (torch.from_numpy(part) for part in (drawn.items, drawn.asked, drawn.right))
    return Asked(items, places, right, at)


def answered(model: Labeller, drawn: Drawn) -> Labelled:
    """All that a model says to some examples."""
    batch = asked(drawn)
    found: Labelled = model(batch.items, batch.asked)
    return found


def scored(model: Labeller, drawn: Drawn, at_once: int = 250) -> dict[str, float]:
    """Shares of right answers and of examples with no wrong one, surprise, and mean steps of thought at a place."""
    found: dict[str, list[np.ndarray]] = {"right": [], "exact": [], "loss": [], "steps": []}
    for first in range(0, len(drawn.items), at_once):
        part = drawn.some(first, first + at_once)
        said = answered(model, part)
        hits = said.scores.argmax(-1).numpy() == part.right
        right = torch.from_numpy(part.right)
        surprise = F.cross_entropy(said.scores.transpose(1, 2), right, reduction="none")
        every = (hits.mean(1), hits.all(1), surprise.mean(1).numpy(), said.pondered.steps.mean(1).numpy())
        for kept, values in zip(found.values(), every, strict=True):
            kept.append(values)
    return {name: float(np.concatenate(parts).mean()) for name, parts in found.items()}
