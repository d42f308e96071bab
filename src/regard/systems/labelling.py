"""Labelling: an answer at each place of a row, or one about a set; by layers, or by one layer that ponders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field

from regard.models.labeller_settings import LabellerModel, LayersModel
from regard.settings import Data
from regard.systems.system import Here, Recipe

if TYPE_CHECKING:
    from regard.models.labeller import Labeller
    from regard.tasks.labelling import Labelling
    from regard.tasks.labels import LabelProblem

ProblemName = Literal[
    "mirror",
    "copy",
    "reverse",
    "sum",
    "parity",
    "switch",
    "max",
    "total",
    "different",
    "odd",
    "referent",
    "story",
    "odd-picture",
]


class LabelData(Data):
    """Rows and sets, drawn from a seed, with exact answers."""

    trained_on: ClassVar[frozenset[str]] = frozenset({"characters"})
    held_out: ClassVar[frozenset[str]] = frozenset({"test_characters"})

    problem: ProblemName = "mirror"
    """What is asked."""
    characters: Path | None = None
    """Drawings to learn from, as Omniglot's .npz; without it, they are made of random strokes."""
    test_characters: Path | None = None
    """Drawings of other alphabets to be measured by."""
    side: int = Field(15, ge=5, le=105)
    """Pixels a side that drawings are averaged down to; a divisor of 105 does it exactly."""
    smallest: int = Field(16, ge=1, le=1000)
    """The fewest items ..."""
    largest: int = Field(16, ge=1, le=1000)
    """... and the most."""
    tested: tuple[int, ...] = ()
    """Other sizes that are tested at the end, unseen in training."""
    shift: int = Field(0, ge=0, le=10_000)
    """While training the first item stands anywhere up to this place, so that none is a place never seen."""
    rows: int = Field(128, ge=1, le=100_000)
    """Examples in a batch, all of one size."""
    held_out_rows: int = Field(1000, ge=1, le=1_000_000)
    """Examples of each size that are tested at the end."""


class LabelRecipe(Recipe):
    """Items in, labels out."""

    family: ClassVar[str] = "labelling"

    task: Literal["labelling"] = "labelling"
    data: LabelData = Field(default_factory=LabelData)
    model: LabellerModel = Field(default_factory=LayersModel, discriminator="kind")

    def make(self, here: Here) -> Labelling:
        from regard.tasks.label_measures import MEASURES
        from regard.tasks.labelling import Labelling, Sizes

        data = self.data
        sizes = Sizes(data.smallest, data.largest, data.tested, data.rows, data.held_out_rows, data.shift)
        problem = self.problem()
        price = getattr(self.model, "price", 0.0)
        return Labelling(problem, self.build, sizes, self.train.seed, price, MEASURES.get(type(problem), ()))

    def problem(self) -> LabelProblem:
        """The problem that is named."""
        from regard.tasks.odd_pictures import Drawings
        from regard.tasks.problems import problem_of

        data = self.data
        return problem_of(data.problem, Drawings(data.characters, data.test_characters, data.side))

    def build(self, problem: LabelProblem) -> Labeller:
        """A fresh model for it."""
        from regard.models.labeller import build_labeller

        return build_labeller(self.model, problem.words, problem.features, problem.classes, problem.side)

    def complete(self) -> Self:
        data, problem = self.data, self.problem()
        if not problem.least <= data.smallest <= data.largest <= problem.most:
            raise ValueError(
                f"data.smallest = {data.smallest} and data.largest = {data.largest} are not in order, or outside "
                f"{problem.least} to {problem.most}, the sizes of {data.problem}"
            )
        return self

    def learned_from(self, ready: Mapping[str, Any]) -> str:
        data = self.data
        where = "generated examples" if data.characters is None else f"sets of drawings of {data.characters.name}"
        return f"{where} ({data.problem}) of size {data.smallest} to {data.largest}"
