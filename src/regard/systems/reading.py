"""Reading: guess the next word. An LSTM that looks back (Cheng et al. 2016), a plain one, dilated convolutions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from regard.models.sequence_settings import LstmnModel, ReaderModel
from regard.systems.system import Here, Recipe
from regard.tasks.sequence_settings import ReadingData

if TYPE_CHECKING:
    from regard.tasks.reading import Reading


class ReadingRecipe(Recipe):
    """Words in, the next word out."""

    family: ClassVar[str] = "reading"
    tag: ClassVar[str] = "text-generation"
    unit: ClassVar[str] = "words"

    task: Literal["reading"] = "reading"
    data: ReadingData = Field(default_factory=ReadingData)
    model: ReaderModel = Field(default_factory=LstmnModel, discriminator="kind")

    def make(self, here: Here) -> Reading:
        from regard.tasks.reading import Reading

        return Reading(self.data, self.model, self.train.smoothing, self.train.seed)

    def learned_from(self, ready: Mapping[str, Any]) -> str:
        """By name only: a card travels, folders do not."""
        data = self.data
        if data.text is None:
            return f"generated questions about {data.facts} names, asked {data.distance} words later"
        return f"{data.text.name}, {data.window} {data.unit} at a time"
