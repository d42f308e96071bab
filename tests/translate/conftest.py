"""A toy that knows ten words and is sure of them, and one that knows nothing at all."""

from __future__ import annotations

import pytest
import torch

from regard.models.build import build_model
from regard.models.settings import RecurrentModel, TransformerModel
from regard.search.settings import Search
from regard.translate.translator import Translator
from tests.translate.toys import RUN


@pytest.fixture(scope="session")
def toy() -> Translator:
    return Translator.load(RUN)


@pytest.fixture(scope="session", params=["transformer", "recurrent"])
def wild(request: pytest.FixtureRequest, toy: Translator) -> Translator:
    """Random weights: it says anything, line feeds and half characters too."""
    torch.manual_seed(3)
    pieces = toy.speaker.source
    settings = {
        "transformer": TransformerModel(width=16, heads=2, feedforward=16, encoder_layers=1, decoder_layers=3),
        "recurrent": RecurrentModel(width=16, embedding=16),
    }
    model = build_model(settings[request.param], len(pieces), len(pieces))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return Translator(model, pieces, pieces, Search(beam=2, longest_ratio=1, longest_extra=3), longest=40)
