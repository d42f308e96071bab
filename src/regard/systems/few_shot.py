"""Few-shot learning: characters are named after a few were shown. Mishra et al. 2018 (SNAIL) on Omniglot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field

from regard.models.sequence_settings import ImageModel, SnailModel
from regard.models.settings import LstmModel
from regard.systems.system import Here, Recipe
from regard.tasks.sequence_settings import FewShotData

if TYPE_CHECKING:
    from regard.tasks.few_shot import Naming


class FewShotRecipe(Recipe):
    """Images with names, then one without."""

    family: ClassVar[str] = "learning to learn"
    tag: ClassVar[str] = "image-classification"

    task: Literal["few-shot"] = "few-shot"
    data: FewShotData = Field(default_factory=FewShotData)
    model: SnailModel | LstmModel = Field(default_factory=SnailModel, discriminator="kind")
    images: ImageModel = Field(default_factory=ImageModel)

    def make(self, here: Here) -> Naming:
        from regard.tasks.few_shot import Naming

        return Naming(self.data, self.model, self.images, self.train.seed)

    def complete(self) -> Self:
        images = self.images
        if images.filters % images.groups:
            raise ValueError(
                f"images.groups = {images.groups} does not divide images.filters = {images.filters}; "
                "give a divisor of it"
            )
        return self

    def learned_from(self, ready: Mapping[str, Any]) -> str:
        data = self.data
        where = "generated strokes" if data.characters is None else data.characters.name
        return f"characters of {where}, {data.ways} at a time, each shown up to {data.shots} times"
