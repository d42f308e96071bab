"""Watching from outside: nested models, several mechanisms, blocks within blocks, training and evaluation."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from torch import Tensor, nn

from regard import attend as A


class Layer(nn.Module):
    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.own = A.papers.vaswani(8, 2, scope=A.causal, dropout=dropout)
        self.cross = A.papers.vaswani(8, 4, dropout=dropout)

    def forward(self, x: Tensor, source: Tensor) -> Tensor:
        x = x + self.own(x, self.own.memory(x))
        return x + self.cross(x, self.cross.memory(source, scope=A.lengths([5, 3])))


class Model(nn.Module):
    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Layer(dropout), Layer(dropout)])
        self.pool = A.papers.yang(8, 8)

    def forward(self, x: Tensor, source: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x, source)
        return self.pool(self.pool.memory(x))


@pytest.fixture
def data() -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    return torch.randn(2, 4, 8), torch.randn(2, 5, 8)


def test_every_look_is_seen_in_order_under_its_name(data: tuple[Tensor, Tensor]) -> None:
    model = Model()
    with A.watch(model) as seen:
        model(*data)
    assert [s.name for s in seen] == [
        "layers.0.own",
        "layers.0.cross",
        "layers.1.own",
        "layers.1.cross",
        "pool.mechanism",
    ]
    assert [tuple(s.weights.shape) for s in seen[:2]] == [(2, 2, 4, 4), (2, 4, 4, 5)]
    for s in seen:
        assert torch.allclose(s.weights.sum(-1), torch.ones(()), atol=1e-5)
    assert not seen[0].weights.triu(1).any()
    assert not seen[1].weights[1, ..., 3:].any()


def test_a_mechanism_alone_is_watched_too(data: tuple[Tensor, Tensor]) -> None:
    attention = A.papers.luong_dot()
    with A.watch(attention) as seen:
        attention.look(data[0], attention.memory(data[1]))
    assert [s.name for s in seen] == ["attention"]


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("training", [True, False])
def test_watching_changes_neither_answers_nor_gradients(
    data: tuple[Tensor, Tensor], training: bool, dropout: float
) -> None:
    results = []
    for watching in (False, True):
        torch.manual_seed(1)
        model = Model(dropout).train(training)
        torch.manual_seed(2)
        if watching:
            with A.watch(model) as seen:
                out = model(*data)
            assert len(seen) == 5
        else:
            out = model(*data)
        out.sum().backward()
        results.append((out.detach(), [p.grad for p in model.parameters()]))
    assert torch.allclose(results[0][0], results[1][0], atol=2e-6)
    for a, b in zip(results[0][1], results[1][1], strict=True):
        assert a is not None
        assert b is not None
        assert torch.allclose(a, b, atol=1e-5)


def test_blocks_nest_and_overlap(data: tuple[Tensor, Tensor]) -> None:
    model = Model()
    with A.watch(model) as outer:
        with A.watch(model.layers[1]) as inner, A.watch(model) as again:
            model(*data)
        model(*data)
    assert (len(outer), len(inner), len(again)) == (10, 2, 5)
    assert [s.name for s in inner] == ["own", "cross"]


def test_nothing_stays_behind(data: tuple[Tensor, Tensor]) -> None:
    model = Model()
    with pytest.raises(ValueError, match="built for memory 8 wide"), A.watch(model) as seen:
        model(data[0], data[1][..., :3])  # a memory of the wrong width
    assert len(seen) == 1
    assert all(m.watchers == () for m in model.modules() if isinstance(m, A.Attention))
    weights = weakref.ref(seen[0].look.weights)
    del seen
    gc.collect()
    assert weights() is None


def test_what_was_seen_keeps_no_graph_unless_asked(data: tuple[Tensor, Tensor]) -> None:
    model = Model()
    with A.watch(model) as seen, A.watch(model, graph=True) as with_graph:
        model(*data)
    assert not seen[0].weights.requires_grad
    assert with_graph[0].weights.requires_grad
    (gradient,) = torch.autograd.grad(with_graph[0].weights[..., 0].sum(), model.layers[0].own.query.weight)
    assert gradient.abs().sum() > 0


def test_the_model_can_be_saved_while_watched(data: tuple[Tensor, Tensor]) -> None:
    model = Model()
    with A.watch(model):
        state = model.state_dict()
    Model().load_state_dict(state)
