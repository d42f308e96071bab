"""What Transformers share, each held to its formula."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from regard.models.blocks import (
    FeedForward,
    GatedFeedForward,
    LearnedPlaces,
    NoPlaces,
    PostNorm,
    PreNorm,
    Sinusoids,
    Words,
    embedding,
    linear,
    output,
)
from regard.text.ids import PAD

X = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(0))


def test_sinusoids_are_the_papers() -> None:
    table = Sinusoids(8)(600, 0).numpy()
    for place in (0, 1, 17, 599):
        for pair in range(4):
            angle = place / 10000 ** (2 * pair / 8)
            assert table[place, 2 * pair] == pytest.approx(math.sin(angle), abs=1e-7)
            assert table[place, 2 * pair + 1] == pytest.approx(math.cos(angle), abs=1e-7)
    assert table[0].tolist() == [0, 1] * 4
    assert table[1, :2] == pytest.approx([0.8415, 0.5403], abs=5e-5)


def test_places_further_on_are_a_rotation() -> None:
    """A step of k turns each pair by the same angle wherever it starts: relative places are linear functions."""
    table = Sinusoids(6)(50, 0).double().numpy().reshape(50, 3, 2)
    for pair in range(3):
        angle = 7 / 10000 ** (2 * pair / 6)
        turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
        assert table[:43, pair] @ turn.T == pytest.approx(table[7:, pair], abs=1e-6)


def test_sinusoids_have_no_limit_and_no_memory() -> None:
    places, fresh = Sinusoids(8), Sinusoids(8)
    short = places(3, 0).clone()
    assert torch.equal(places(2000, 0)[:3], short)
    assert torch.equal(places(1, 1500), fresh(1501, 0)[1500:])
    assert not list(places.parameters())
    assert not places.state_dict()  # they are known, and not saved


def test_learned_places_say_where_they_end() -> None:
    places = LearnedPlaces(8, 10)
    assert torch.equal(places(3, 7), places.table[7:])
    with pytest.raises(ValueError, match=r"10 learned places and was given 11 tokens; split the text"):
        places(1, 10)


def test_learned_places_are_a_one_hot_beside_the_word() -> None:
    """W [x; p] = W_x x + W_p p: appending a one-hot place and mapping it is adding a learned row (Lee's lecture)."""
    words, places = torch.randn(5, 4), LearnedPlaces(8, 5)
    w = torch.randn(8, 4)
    joint = torch.cat((w, places.table.T), 1)
    appended = torch.cat((words, torch.eye(5)), 1) @ joint.T
    assert torch.allclose(appended, words @ w.T + places(5, 0), atol=1e-6)


def test_words_are_scaled_and_placed() -> None:
    table = embedding(11, 8)
    ids = torch.tensor([[4, 5, 6]])
    words = Words(table, Sinusoids(8), 0.5).eval()
    rows = table.weight[ids] * math.sqrt(8)
    assert torch.allclose(words(ids, at=3), rows + Sinusoids(8)(6, 0)[3:])
    assert torch.allclose(Words(table, NoPlaces(), 0.0)(ids), rows)
    assert bool((Words(table, NoPlaces(), 0.5)(ids.expand(20, -1)) == 0).any())  # dropout, while training


def test_embeddings_have_the_size_of_places() -> None:
    table = embedding(5000, 64)
    assert float(table.weight[1:].detach().std()) * 8 == pytest.approx(1.0, abs=0.01)
    assert not table.weight[PAD].any()


def test_padding_learns_nothing_from_being_read() -> None:
    table = embedding(11, 8)
    Words(table, NoPlaces(), 0.0)(torch.tensor([[4, PAD, PAD]])).sum().backward()
    assert table.weight.grad is not None
    assert not table.weight.grad[PAD].any()
    assert bool(table.weight.grad[4].all())


def test_output_of_a_table_is_the_table() -> None:
    table = embedding(11, 8)
    tied, free = output(table, 11, 8), output(None, 11, 8)
    assert tied.weight is table.weight
    assert tied.bias is None
    assert free.weight.shape == (11, 8)
    assert torch.allclose(tied(X), X @ table.weight.T)


@pytest.mark.parametrize("bend", [F.relu, F.gelu])
def test_feed_forward_is_a_convolution_of_width_one(bend: nn.Module) -> None:
    network = FeedForward(8, 20, bend).double()
    for layer in (network.up, network.down):
        nn.init.normal_(layer.bias)
    up, down = nn.Conv1d(8, 20, 1).double(), nn.Conv1d(20, 8, 1).double()
    for conv, layer in ((up, network.up), (down, network.down)):
        conv.weight.data, conv.bias.data = layer.weight.data.unsqueeze(-1), layer.bias.data  # type: ignore[union-attr]
    x = X.double()
    assert torch.allclose(network(x), down(bend(up(x.mT))).mT, atol=1e-12)


def test_feed_forward_is_the_papers() -> None:
    network = FeedForward(8, 20, F.relu)
    w1, w2 = network.up.weight.T, network.down.weight.T
    expected = (X @ w1 + network.up.bias).clamp_min(0) @ w2 + network.down.bias
    assert torch.allclose(network(X), expected, atol=1e-6)


def test_gated_feed_forward_is_swiglu() -> None:
    network = GatedFeedForward(8, 20)
    gate, value = (X @ network.up.weight.T + network.up.bias).split(20, -1)
    expected = (gate * torch.sigmoid(gate) * value) @ network.down.weight.T + network.down.bias
    assert torch.allclose(network(X), expected, atol=1e-6)


@pytest.mark.parametrize("network", [FeedForward(8, 400, F.relu, 0.5), GatedFeedForward(8, 400, 0.5)], ids=type)
def test_feed_forward_drops_inside(network: nn.Module) -> None:
    seen: list[torch.Tensor] = []
    network.down.register_forward_pre_hook(lambda _, given: seen.append(given[0]))  # type: ignore[union-attr]
    network(X)
    network.eval()(X)
    shares = [float((x[:, 0] == 0).float().mean()) for x in seen]
    already = shares[1]  # relu's own zeros
    assert shares[0] == pytest.approx(already + (1 - already) / 2, abs=0.1)


def test_norms_stand_where_they_should() -> None:
    def layer_norm(x: torch.Tensor) -> torch.Tensor:  # per token, over features
        return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()

    def change(x: torch.Tensor) -> torch.Tensor:
        return x.roll(1, -1) * 2 + 1

    assert torch.allclose(PreNorm(8, 0.0)(X, change), X + change(layer_norm(X)), atol=1e-5)
    assert torch.allclose(PostNorm(8, 0.0)(X, change), layer_norm(X + change(X)), atol=1e-5)


@pytest.mark.parametrize("kind", [PreNorm, PostNorm])
def test_residual_dropout_leaves_the_old_alone(kind: type[nn.Module]) -> None:
    around = kind(8, 0.5)
    around.norm = nn.Identity()
    x = torch.zeros(50, 5, 8)
    added = around(x, lambda y: y + 1)
    assert set(added.unique().tolist()) == {0.0, 2.0}
    assert torch.equal(around.eval()(x, lambda y: y + 1), x + 1)


def test_linear_starts_as_xavier_has_it() -> None:
    layer = linear(30, 50)
    bound = math.sqrt(6 / 80)
    assert 0.95 * bound < float(layer.weight.detach().abs().max()) <= bound
    assert not layer.bias.any()
