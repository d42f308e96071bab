"""`regard finetune`: a finished model learns other text without forgetting the old."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from regard.commands.train import train
from regard.files import no_way_out
from regard.systems.system import Here, Recipe
from regard.systems.text import TextRecipe
from regard.tasks.parallel_text import Older, ParallelText, is_ready
from regard.train.folder import model_of, write
from regard.train.ranks import Ranks
from regard.train.signals import AGAIN, Stop, Stopped


def finetune(recipe: Recipe, old: Path, run: Path, fresh: bool = False, share: float = 0.2) -> int:
    """Train from the old run's weights; then score old and new model on old and new text."""
    if old.resolve() == run.resolve():
        raise ValueError(f"{run} is the old run itself; give another folder with --run")
    if not 0 <= share < 1:
        raise ValueError(f"--share is the old text's part of everything, 0 up to 1; got {share}")
    assert isinstance(recipe, TextRecipe)
    no_way_out(old)
    model_of(old)
    code = train(recipe, run, fresh, Older(old, share))
    if code == 0 and Ranks.named().first:
        with Stop() as stop:
            try:
                with stop.interruptible():
                    _compare(recipe, old, run)
            except Stopped:
                return AGAIN
    return code


def _compare(recipe: TextRecipe, old: Path, run: Path) -> None:
    """Both models on both validation texts: what was won, and what it cost."""
    from rich.console import Console
    from rich.table import Table

    from regard.train.saves import load_weights

    task = recipe.make(Here())
    texts = {"new text": ParallelText.open(run)}
    if is_ready(old):
        texts = {"old text": ParallelText.open(old), **texts}
    table, scores = Table(task.by.title, *texts), {}
    for name, folder in {"old model": old, "new model": run}.items():
        task.text = texts["new text"]
        model = task.build().eval()
        load_weights(model, model_of(folder))
        row: dict[str, Any] = {}
        for which, text in texts.items():
            row[which] = task.scores(model, text.valid, recipe.search)
        scores[name] = row
        table.add_row(name, *(f"{row[which][task.best_by]:.4g}" for which in texts))
    write(run / "finetune.json", json.dumps(scores, indent=1))
    Console(stderr=True).print(table)
