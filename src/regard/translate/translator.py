"""Raw text in, raw text out, and what was looked at: one translator for every model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attend.watch import watch
from regard.models.build import build_model
from regard.models.seq2seq import Seq2Seq
from regard.recipe import TranslationRecipe, load
from regard.search.settings import Search
from regard.tasks.decode import Translated, translate
from regard.text.ids import START
from regard.text.pieces import Pieces
from regard.train.folder import model_of
from regard.train.saves import load_weights


@dataclass(frozen=True)
class Result:
    """A translation, its score (log p over the length penalty), its pieces, and what each looked at."""

    text: str
    score: float
    complete: bool
    """False where the limit of length was reached."""
    source: tuple[str, ...]
    """Pieces of the source."""
    target: tuple[str, ...]
    """Pieces of the translation, and END."""
    attention: Float[Tensor, "l h t s"] | None = None
    """Weights of every layer and head that looks at the source, if asked for."""


class Translator:
    """A trained model with its pieces and its search."""

    def __init__(self, model: Seq2Seq, source: Pieces, target: Pieces, search: Search) -> None:
        self.model, self.source, self.target, self.search = model.eval(), source, target, search

    @classmethod
    def load(cls, run: Path | str) -> Translator:
        """The best model of a run folder, if it is whole."""
        folder = Path(run)
        weights = model_of(folder)
        recipe = load(folder / "recipe.toml")
        if not isinstance(recipe, TranslationRecipe):
            raise ValueError(f"{folder} is a run of {recipe.task}, not a translator")
        source = Pieces.load(folder / "pieces" / "source.model")
        other = folder / "pieces" / "target.model"
        target = Pieces.load(other) if other.exists() else source
        model = build_model(recipe.model, len(source), len(target))
        load_weights(model, weights)
        return cls(model, source, target, recipe.search)

    def __call__(self, texts: Sequence[str], attention: bool = False) -> list[Result]:
        """Translate these texts, in their order."""
        found = translate(self.model, self.source, self.target, texts, self.search)
        return [self._result(text, one, attention) for text, one in zip(texts, found, strict=True)]

    def _result(self, text: str, found: Translated, attention: bool) -> Result:
        ids = self.source.encode([text])[0]
        best = found.best
        return Result(
            found.text,
            best.score,
            best.complete,
            tuple(self.source.words(ids)),
            (*self.target.words(best.words), "</s>"),
            self._attention(ids, best.words) if attention and ids else None,
        )

    def _attention(self, source: Sequence[int], said: Sequence[int]) -> Float[Tensor, "l h t s"] | None:
        """One pass over what was really said, watched; the search itself carries no weights."""
        sights = self.model.sights()
        if not sights:
            return None
        ids, before = torch.tensor([source]), torch.tensor([[START, *said]])
        layers = []
        with torch.no_grad():
            for sight in sights:
                with watch(sight) as seen:
                    self.model.states(ids, torch.tensor([len(source)]), before)
                layers.append(torch.cat([look.weights[0] for look in seen], 1))  # h t s, step by step or at once
        return torch.stack(layers)
