"""Everything that can be trained: a system is a recipe's settings and the task made of them.

A new one is a file here (settings, no torch), a task in `tasks/`, a model in `models/`, a picture in `show/` that
the task names, and a line below.
"""

from __future__ import annotations

import importlib
from functools import cache

from regard.systems.system import Recipe

SYSTEMS: dict[str, str | type[Recipe]] = {
    "translation": "translation:TranslationRecipe",
    "transduction": "transduction:TransductionRecipe",
    "pointing": "pointing:PointingRecipe",
    "tape": "tape:TapeRecipe",
    "copying": "copying:CopyingRecipe",
    "reading": "reading:ReadingRecipe",
    "few-shot": "few_shot:FewShotRecipe",
    "bandit": "bandit:BanditRecipe",
    "labelling": "labelling:LabelRecipe",
    "crops": "crops:CropRecipe",
}
"""The name of a task in a recipe, and where its settings are: a file here, or a class of somebody's own."""


@cache
def recipe_of(task: str) -> type[Recipe]:
    """The settings of a task."""
    known = SYSTEMS[task]
    if not isinstance(known, str):
        return known
    module, _, name = known.partition(":")
    found: type[Recipe] = getattr(importlib.import_module(f"regard.systems.{module}"), name)
    return found
