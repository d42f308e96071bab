"""Pointing: an answer is an order of the inputs. Vinyals, Fortunato & Jaitly 2015."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field

from regard.models.settings import PointerModel
from regard.search.settings import Search
from regard.systems.system import Here, Recipe
from regard.tasks.settings import PointData

if TYPE_CHECKING:
    from regard.tasks.pointing import PointingTask


class PointingRecipe(Recipe):
    """Points in, an order of them out."""

    family: ClassVar[str] = "pointing"

    task: Literal["pointing"] = "pointing"
    data: PointData = Field(default_factory=PointData)
    model: PointerModel = Field(default_factory=PointerModel)
    search: Search = Field(default_factory=Search)

    def make(self, here: Here) -> PointingTask:
        from regard.tasks.pointing import PointingTask

        return PointingTask(self.data, self.model, self.search, self.train.seed)

    def complete(self) -> Self:
        from regard.tasks.points import PROBLEMS

        data, most = self.data, PROBLEMS[self.data.problem].largest
        if not data.smallest <= data.largest <= most:
            raise ValueError(
                f"data.smallest = {data.smallest} and data.largest = {data.largest} are not in order, or above "
                f"{most}, which is as many points as {data.problem} is solved for"
            )
        return self

    def learned_from(self, ready: Mapping[str, Any]) -> str:
        return f"generated problems ({self.data.problem}) of {self.data.smallest} to {self.data.largest} points"
