"""The loss of saying a sequence: read twice, both readings count half, and they are not the same with dropout."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from regard.models.build import build_model
from regard.models.settings import RecurrentModel, TransformerModel
from regard.tasks.sequences import batch_of, sequence_loss

WORDS = 30
SMALL = {"width": 16, "dropout": 0.0}
MODELS = [
    TransformerModel(**SMALL, heads=2, feedforward=24, encoder_layers=1, decoder_layers=1),
    RecurrentModel(width=16, embedding=16, dropout=0.0),
]


def rows(seed: int, lengths: tuple[int, ...]) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.integers(4, WORDS, n) for n in lengths]


def batch():
    return batch_of(rows(1, (3, 5, 2)), rows(2, (4, 1, 6)))


@pytest.mark.parametrize("settings", MODELS, ids=lambda one: one.kind)
def test_read_twice_without_dropout_is_read_once(settings):
    torch.manual_seed(1)
    model = build_model(settings, WORDS, WORDS)
    once, twice = (sequence_loss(model, batch(), 0.1, agreement) for agreement in (0.0, 5.0))
    assert twice.total.item() == pytest.approx(once.total.item(), rel=1e-5)
    assert twice.figures["loss"] == pytest.approx(once.figures["loss"], rel=1e-5)
    gradients = [torch.autograd.grad(loss.total, list(model.parameters())) for loss in (once, twice)]
    for one, other in zip(*gradients, strict=True):
        assert torch.allclose(one, other, atol=1e-4)


def test_readings_that_differ_cost_and_are_drawn_to_one_another():
    torch.manual_seed(1)
    model = build_model(MODELS[0].model_copy(update={"dropout": 0.3}), WORDS, WORDS)

    def cost() -> torch.Tensor:
        torch.manual_seed(2)  # the same numbers dropped
        return sequence_loss(model, batch(), 0.1, 50.0).total - sequence_loss_of_both()

    def sequence_loss_of_both() -> torch.Tensor:
        torch.manual_seed(2)
        return sequence_loss(model, batch(), 0.1, 1e-9).total

    before = cost()
    assert before.item() > 0.5
    rule = torch.optim.SGD(model.parameters(), 1e-3)
    for _ in range(20):
        rule.zero_grad()
        cost().backward()
        rule.step()
    assert cost().item() < 0.5 * before.item()
