"""Text in, text out: what translators and other transducers share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import Field

from regard.models.settings import ModelSettings, TransformerModel
from regard.search.settings import Search
from regard.systems.system import Here, Recipe
from regard.tasks.settings import TextData

if TYPE_CHECKING:
    from regard.tasks.measures import Measure
    from regard.tasks.translation import Translation


class TextRecipe(Recipe):
    """Pairs of texts, a model that says the second after reading the first, and a search for what it says."""

    unit: ClassVar[str] = "tokens"

    data: TextData = Field(default_factory=TextData)
    model: ModelSettings = Field(default_factory=TransformerModel, discriminator="kind")
    search: Search = Field(default_factory=Search)

    def make(self, here: Here) -> Translation:
        from regard.tasks.parallel_text import TextSource
        from regard.tasks.translation import Translation

        train = self.train
        origin = TextSource(self.data, train.seed, here.threads, here.say, here.older)
        return Translation(
            origin,
            self.model,
            self.search,
            train.batch_tokens,
            train.smoothing,
            here.device,
            measure=self.measure(),
            agreement=train.agreement,
        )

    @abstractmethod
    def measure(self) -> Measure:
        """How what is said is judged."""

    def complete(self) -> Self:
        data = self.data
        ways = [
            data.generated is not None,
            data.pairs is not None,
            data.source is not None or data.target is not None,
        ]
        if not any(ways):
            raise ValueError(
                "there is no text to learn from; give --data.source FILE and --data.target FILE, or --data.pairs "
                "FILE, or a recipe that has its own, such as dates"
            )
        if sum(ways) > 1:
            raise ValueError(
                "data.source with data.target, data.pairs and data.generated are three ways to say the same; give one"
            )
        if ways[2] and (data.source is None or data.target is None):
            there, missing = ("source", "target") if data.target is None else ("target", "source")
            raise ValueError(
                f"there is data.{there} without data.{missing}; give --data.{missing} FILE, line by line its "
                "translation"
            )
        if data.joint and data.target_spelling not in (None, data.spelling):
            raise ValueError(
                f"data.spelling = '{data.spelling}' and data.target_spelling = '{data.target_spelling}' are two "
                "vocabularies; set data.joint = false"
            )
        return self

    def languages(self) -> list[str]:
        return [code for code in (self.data.source_language, self.data.target_language) if code]

    def learned_from(self, ready: Mapping[str, Any]) -> str:
        """By name only: a card travels, folders do not."""
        if "pairs" not in ready:
            return "not made ready yet"
        where = " and ".join(Path(part).name for part in str(ready.get("where")).split(" and "))
        if self.data.generated is not None:
            where = f"a generator (`{self.data.generated}`): this is no real text"
        return f"{ready['pairs']:,} pairs from {where}"
