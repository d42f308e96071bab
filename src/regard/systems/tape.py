"""Machines with a tape: rules on sequences of bits. Graves, Wayne & Danihelka 2014."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field

from regard.models.settings import LstmModel, TuringModel
from regard.systems.system import Here, Recipe
from regard.tasks.settings import TapeData

if TYPE_CHECKING:
    from regard.tasks.taping import Taping


class TapeRecipe(Recipe):
    """Bits in, bits out."""

    family: ClassVar[str] = "memory"

    task: Literal["tape"] = "tape"
    data: TapeData = Field(default_factory=TapeData)
    model: TuringModel | LstmModel = Field(default_factory=TuringModel, discriminator="kind")

    def make(self, here: Here) -> Taping:
        from regard.tasks.taping import Taping

        return Taping(self.data, self.model, self.train.seed)

    def complete(self) -> Self:
        data = self.data
        least = {"recall": 2, "ngrams": data.context + 2}.get(data.problem, 1)
        if not least <= data.smallest <= data.largest:
            raise ValueError(
                f"data.smallest = {data.smallest} and data.largest = {data.largest} are not in order, or below "
                f"{least}, the smallest size of {data.problem}"
            )
        return self

    def learned_from(self, ready: Mapping[str, Any]) -> str:
        return f"generated sequences ({self.data.problem}) of size {self.data.smallest} to {self.data.largest}"
