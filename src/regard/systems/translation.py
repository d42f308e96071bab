"""Translation: from one language to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from regard.systems.text import TextRecipe

if TYPE_CHECKING:
    from regard.tasks.measures import Measure


class TranslationRecipe(TextRecipe):
    """Text in, text out."""

    family: ClassVar[str] = "translation"
    tag: ClassVar[str] = "translation"

    task: Literal["translation"] = "translation"

    def measure(self) -> Measure:
        from regard.tasks.measures import Bleu

        return Bleu(self.data.scored)

    def scored_by(self) -> str:
        return f"BLEU and chrF2++ by sacreBLEU, split as `{self.data.scored}`."
