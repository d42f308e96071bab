"""Crop mapping from series of satellite images. Rußwurm & Körner 2020."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from regard.models.crop_settings import CropModel
from regard.systems.system import Here, Recipe
from regard.tasks.crop_settings import CropData

if TYPE_CHECKING:
    from regard.tasks.crops import CropMapping


class CropRecipe(Recipe):
    """How a field looked over the year, and what grew there."""

    family: ClassVar[str] = "series"
    tag: ClassVar[str] = "time-series-classification"

    task: Literal["crops"] = "crops"
    data: CropData = Field(default_factory=CropData)
    model: CropModel = Field(default_factory=CropModel)

    def make(self, here: Here) -> CropMapping:
        from regard.tasks.crops import CropMapping

        return CropMapping(self.data, self.model, self.train.smoothing, self.train.seed)

    def learned_from(self, ready: Mapping[str, Any]) -> str:
        return "generated fields over a year" if self.data.series is None else f"fields of {self.data.series.name}"
