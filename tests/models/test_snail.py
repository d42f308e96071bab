"""SNAIL: blocks as written in the paper, nothing later is seen, and the right sizes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from regard.attend.watch import watch
from regard.models.few_shot import FewShot, build_few_shot
from regard.models.sequence_settings import ImageModel, SnailModel
from regard.models.settings import LstmModel
from regard.models.snail import AttentionBlock, Snail, build_learner

SMALL = SnailModel(width=4, key=5, value=6, blocks=2)


def few_shot(kind: str = "snail", ways: int = 3, shots: int = 2) -> FewShot:
    torch.manual_seed(2)
    model = SMALL if kind == "snail" else LstmModel(width=7, layers=1)
    return build_few_shot(model, ImageModel(convolutions=2, filters=4, groups=2, width=8), 9, ways, shots).eval()


def test_an_attention_block_is_causal_softmax_of_scaled_dots_beside_its_input():
    torch.manual_seed(0)
    block, given = AttentionBlock(3, 4, 2), torch.randn(2, 5, 3)
    x = given.numpy()
    q, k, v = (
        x @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
        for layer in (block.query, block.key, block.value)
    )
    right = []
    for row in range(2):
        for t in range(5):
            scores = k[row, : t + 1] @ q[row, t] / 2.0
            weights = np.exp(scores) / np.exp(scores).sum()
            right.append(np.concatenate((x[row, t], weights @ v[row, : t + 1])))
    np.testing.assert_allclose(block(given).detach().numpy().reshape(10, -1), right, atol=1e-5)


@pytest.mark.parametrize("settings", [SMALL, LstmModel(width=8, layers=2)], ids=["snail", "lstm"])
def test_the_future_cannot_change_the_past(settings):
    torch.manual_seed(0)
    learner, given = build_learner(settings, 3, 2, 8), torch.randn(2, 8, 3)
    changed = given.clone()
    changed[:, 5:] = 9.0
    torch.testing.assert_close(learner(given)[:, :5], learner(changed)[:, :5], rtol=0, atol=1e-6)
    assert not torch.allclose(learner(given)[:, 5:], learner(changed)[:, 5:])


def test_widths_add_up_and_every_weight_learns():
    learner = build_learner(SMALL, 3, 2, 8)
    assert isinstance(learner, Snail)
    assert learner.answer.in_features == 3 + 6 + 2 * (3 * 4 + 6)
    learner(torch.randn(2, 8, 3)).square().sum().backward()
    assert all(weight.grad is not None for weight in learner.parameters())


@pytest.mark.parametrize("kind", ["snail", "lstm"])
def test_an_episode_alone_equals_the_same_in_a_batch(kind):
    """Also each query by itself: what is asked beside it changes nothing."""
    model = few_shot(kind)
    support, queries, names = torch.rand(4, 6, 9, 9), torch.rand(4, 5, 9, 9), torch.tensor([[0, 1, 2, 2, 1, 0]] * 4)
    whole = model(support, names, queries)
    assert whole.shape == (4, 5, 3)
    for row in range(4):
        alone = model(support[row : row + 1], names[row : row + 1], queries[row : row + 1, 3:4])
        torch.testing.assert_close(alone[0, 0], whole[row, 3], atol=1e-5, rtol=1e-4)


def test_the_name_of_a_query_is_never_told_and_fewer_shots_fit():
    model = few_shot()
    with watch(model) as seen:
        found = model(torch.rand(2, 3, 9, 9), torch.tensor([[0, 1, 2], [2, 0, 1]]), torch.rand(2, 1, 9, 9))
    assert found.shape == (2, 1, 3)
    assert [look.weights.shape for look in seen] == [
        (2, 1, 4, 4)
    ] * 3  # an attention block at each end of each TC block
    assert all(bool((look.weights.triu(1) == 0).all()) for look in seen)


def test_names_matter():
    model, support, queries = few_shot(), torch.rand(1, 3, 9, 9), torch.rand(1, 2, 9, 9)
    first, second = (model(support, torch.tensor([names]), queries) for names in ([0, 1, 2], [1, 0, 2]))
    assert not torch.allclose(first, second)
