"""Bandits: learn which arm to pull from what the pulls paid. Mishra et al. 2018 (SNAIL), Duan et al. 2016."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from regard.models.sequence_settings import SnailModel
from regard.models.settings import LstmModel
from regard.systems.system import Here, Recipe
from regard.tasks.sequence_settings import BanditData

if TYPE_CHECKING:
    from regard.tasks.playing import Playing


class BanditRecipe(Recipe):
    """Pulls and their pay in, the next pull out."""

    family: ClassVar[str] = "learning to learn"
    tag: ClassVar[str] = "reinforcement-learning"
    unit: ClassVar[str] = "games"

    task: Literal["bandit"] = "bandit"
    data: BanditData = Field(default_factory=BanditData)
    model: SnailModel | LstmModel = Field(default_factory=SnailModel, discriminator="kind")

    def make(self, here: Here) -> Playing:
        from regard.tasks.playing import Playing

        return Playing(self.data, self.model, self.train.seed)

    def learned_from(self, ready: Mapping[str, Any]) -> str:
        by = {"pay": "by the policy gradient", "gittins": "taught by Gittins' index"}[self.data.teacher]
        return f"generated bandits of {self.data.arms} arms and {self.data.pulls} pulls, {by}"
