"""The model of a run folder that somebody else may have made: each claim is checked before it costs anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from regard.models.build import build_model
from regard.models.seq2seq import Seq2Seq
from regard.models.settings import ModelSettings
from regard.recipe import code_of, of_run
from regard.systems.text import TextRecipe
from regard.text.pieces import Pieces
from regard.train.folder import model_of
from regard.train.header import Told, header
from regard.train.saves import fit, load_weights


@dataclass(frozen=True)
class Opened:
    """What a translator is made of."""

    recipe: TextRecipe
    model: Seq2Seq
    source: Pieces
    target: Pieces


def opened(folder: Path, trust_code: bool = False) -> Opened:
    """The best model of a run, if the folder is whole; nothing in it is run.

    Unless `trust_code` is set: then a mechanism that it names as file.py:function is taken from that file.
    """
    weights = model_of(folder)
    recipe = of_run(folder, trust_code)
    if not isinstance(recipe, TextRecipe):
        raise ValueError(f"{folder} is a run of {recipe.task}, not a translator")
    source = Pieces.load(folder / "pieces" / "source.model")
    other = folder / "pieces" / "target.model"
    target = Pieces.load(other) if other.exists() else source
    if not code_of(recipe):
        _same_size(recipe.model, len(source), len(target), header(weights))
    model = build_model(recipe.model, len(source), len(target))
    load_weights(model, weights)
    return Opened(recipe, model, source, target)


def _same_size(settings: ModelSettings, source: int, target: int, told: Mapping[str, Told]) -> None:
    """Refuse a recipe that does not describe these weights, before memory is taken for its model."""
    layers = sum(value for name, value in settings if name.endswith("layers"))
    if layers > len(told):
        raise ValueError(
            f"the recipe has {layers} layers and the file of weights {len(told)} tensors: they do not belong together"
        )
    with torch.device("meta"):  # shapes without numbers
        fit(build_model(settings, source, target), told)
