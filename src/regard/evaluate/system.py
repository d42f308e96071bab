"""Any trained system, opened from its run folder and measured on what nothing was chosen by."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from regard.recipe import of_run
from regard.systems.system import Here, Recipe
from regard.tasks.task import Task
from regard.train.fit import seed_of
from regard.train.folder import model_of
from regard.train.header import header
from regard.train.saves import fit, load_weights


@dataclass(frozen=True)
class System:
    """A run that was opened: its recipe, its task, and its best model."""

    recipe: Recipe
    task: Task
    model: nn.Module

    @classmethod
    def load(cls, run: Path, trust_code: bool = False) -> System:
        """What is in a run folder, if it is whole. Sizes are compared before memory is taken for them."""
        weights, recipe = model_of(run), of_run(run, trust_code)
        task = recipe.make(Here())
        task.prepare(run)
        with torch.device("meta"):
            fit(task.build(), header(weights))
        model = task.build().eval()
        load_weights(model, weights)
        return cls(recipe, task, model)

    def measured(self) -> dict[str, dict[str, float]]:
        """The figures of each held-out set, the same as at the end of training."""
        torch.manual_seed(seed_of(self.recipe.train.seed, -1))
        with torch.no_grad():
            return self.task.final(self.model)
