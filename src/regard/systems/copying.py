"""Copying: summaries whose words are the model's own, or copied from the text. See, Liu & Manning 2017."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field

from regard.models.settings import CopyingModel
from regard.search.settings import Search
from regard.systems.system import Here, Recipe
from regard.tasks.settings import ArticleData

if TYPE_CHECKING:
    from regard.tasks.copying import CopyingTask


class CopyingRecipe(Recipe):
    """Texts in, summaries out."""

    family: ClassVar[str] = "summaries"
    tag: ClassVar[str] = "summarization"

    task: Literal["copying"] = "copying"
    data: ArticleData = Field(default_factory=ArticleData)
    model: CopyingModel = Field(default_factory=CopyingModel)
    search: Search = Field(default_factory=Search)

    def make(self, here: Here) -> CopyingTask:
        from regard.tasks.copying import CopyingTask
        from regard.tasks.summaries import Filed, Invented

        data, train = self.data, self.train
        invented = data.generated is not None
        origin = Invented(data, train.seed) if invented else Filed(data, train.seed, train.batch_tokens)
        return CopyingTask(origin, self.model, self.search, here.device)

    def complete(self) -> Self:
        data = self.data
        if (data.generated is None) == (data.articles is None):
            raise ValueError(
                "texts come from a file or a generator; give either --data.articles FILE or --data.generated news"
            )
        if not data.smallest <= data.largest:
            raise ValueError(
                f"data.smallest = {data.smallest} and data.largest = {data.largest} are not in order; exchange them"
            )
        return self

    def learned_from(self, ready: Mapping[str, Any]) -> str:
        """By name only: a card travels, folders do not."""
        data = self.data
        if data.articles is not None:
            return f"texts with their summaries from {data.articles.name}"
        return f"generated texts ({data.generated}) of {data.smallest} to {data.largest} sentences: no real news"

    def scored_by(self) -> str:
        return "ROUGE: F-scores on words in small letters, without stemming; of several references the best."
