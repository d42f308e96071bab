"""Models of every kind with random weights: they say anything, so that equal words mean equal numbers."""

from __future__ import annotations

from pathlib import Path

import torch

from regard.export.sentences import Sentences
from regard.models.build import build_model
from regard.models.settings import ModelSettings
from regard.search.settings import Search
from regard.translate.opened import Opened, opened

RUN = Path(__file__).parent.parent / "files" / "format-2" / "transformer"
TEXTS = ["one red dog", "two blue cat house three", "five", "four four four four four four four four", "☃ x"]
SAID = {"one red dog": "eins rot Hund", "blue house one dog": "blau Haus eins Hund"}


def wild(settings: ModelSettings) -> Opened:
    """A model of these settings, with the pieces of a run."""
    found = opened(RUN)
    torch.manual_seed(1)
    model = build_model(settings, len(found.source), len(found.target))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    short = Search(beam=1, longest_ratio=1.0, longest_extra=12)  # along a longer way there is a tie sooner or later
    recipe = found.recipe.with_sections({"model": settings, "search": short})
    return Opened(recipe, model.eval(), found.source, found.target)


def sentences() -> Sentences:
    return Sentences(TEXTS, None, "some text")
