"""Every shipped recipe builds at its full size, and takes two steps at the size of a toy."""

from __future__ import annotations

import math
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch

from regard.recipe import load, shipped, without_data
from regard.systems.system import Here, Recipe
from regard.systems.translation import TranslationRecipe
from regard.tasks.copying import CopyingTask
from regard.tasks.summaries import Filed
from regard.tasks.task import Task
from regard.tasks.translation import Translation
from regard.text.articles import Article
from regard.text.words import Words
from regard.train.fit import Fit
from regard.train.optimise import optimiser
from regard.train.progress import Progress

WORDS = 30


class Numbered:
    """Pieces: signs, letters, and what two letters merge to, which `data.broken` undoes."""

    def __len__(self) -> int:
        return WORDS

    def words(self, ids: Iterable[int]) -> list[str]:
        spelt = ["<pad>", "<unk>", "<s>", "</s>", *"abcdefghij"]
        spelt += [first + second for first in "abcd" for second in "efgh"]
        return [spelt[number] for number in ids]


class Pairs:
    """A corpus of a few pairs, in memory."""

    def __init__(self) -> None:
        random = np.random.default_rng(0)
        self.source_lengths = random.integers(1, 7, 12).astype(np.int32)
        self.target_lengths = random.integers(1, 7, 12).astype(np.int32)
        both = {"source": self.source_lengths, "target": self.target_lengths}
        self.made = {side: [random.integers(4, WORDS, n) for n in lengths] for side, lengths in both.items()}

    def __len__(self) -> int:
        return len(self.source_lengths)

    def rows(self, side: str, which: np.ndarray) -> list[np.ndarray]:
        return [self.made[side][number] for number in which]


def toy(recipe: Any) -> Any:
    """The same recipe, narrow: depth, wiring and training as they are."""
    small = {"width": 16, "embedding": 16, "feedforward": 24, "heads": 2, "places": 8, "rows": 4}
    recipe = recipe if isinstance(recipe, TranslationRecipe) else without_data(recipe)  # what is made needs no files
    narrow = {
        name: section.model_copy(update={k: v for k, v in small.items() if k in type(section).model_fields})
        for name, section in recipe.sections().items()
    }
    return recipe.with_sections({**narrow, "train": recipe.train.model_copy(update={"batch_tokens": 30})})


def task_of(recipe: Recipe) -> Task:
    """The task, with a little text where it wants some; what else files would tell is generated."""
    task = (recipe if isinstance(recipe, TranslationRecipe) else without_data(recipe)).make(Here())
    if isinstance(task, Translation):
        task.text = cast(Any, SimpleNamespace(source=Numbered(), target=Numbered(), train=Pairs(), where="here"))
    if isinstance(task, CopyingTask) and isinstance(task.origin, Filed):
        task.origin.words, article = Words(["a", "b"]), Article(("a", "x", "b"), (("x", "b"),))
        vars(task.origin)["_parts"] = ([article] * 4, [article])  # as if read from its file
    return task


@pytest.mark.parametrize("name", shipped())
def test_it_builds_at_its_size(name: str) -> None:
    """Without allocating: a billion weights would do as well."""
    with torch.device("meta"):
        model = task_of(load(name)).build()
    assert all(weight.is_meta for weight in model.parameters())


@pytest.mark.parametrize("name", shipped())
def test_it_takes_two_steps(name: str) -> None:
    recipe: Recipe = toy(load(name))
    task = task_of(recipe)
    torch.manual_seed(recipe.train.seed)
    model = task.build()
    before = {key: weight.detach().clone() for key, weight in model.named_parameters()}
    rules = {"model": optimiser(task.parameters(model, "model"), recipe.train)}
    updates = Fit(task, model, rules, recipe.train, Progress()).updates()
    for _ in range(2):
        update = next(updates)
        assert update.skipped is None
        assert math.isfinite(update.norm)
        assert update.norm > 0
        assert update.figures["loss"] > 0
        if isinstance(task, Translation):
            assert update.figures["loss"] / update.units == pytest.approx(math.log(WORDS), rel=0.6)
    still = [
        key for key, weight in model.named_parameters() if weight.requires_grad and torch.equal(weight, before[key])
    ]
    assert not still, f"nothing was learned by {still}"
