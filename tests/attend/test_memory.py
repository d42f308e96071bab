"""Memories that grow, move, shrink and are shared."""

from __future__ import annotations

import pytest
import torch

from regard import attend as A


def test_cached_decoding_equals_reading_the_whole() -> None:
    torch.manual_seed(0)
    for name in ("vaswani", "shazeer", "su", "dai", "press", "katharopoulos", "child"):
        heads = A.papers.build(name, d_model=16, heads=4).double()
        assert isinstance(heads, A.Heads)
        x = torch.randn(2, 9, 16, dtype=torch.float64)
        whole, cache = heads(x, heads.memory(x, scope=A.causal)), None
        for t in range(9):
            new = heads.memory(x[:, t : t + 1], scope=A.causal, start=t)
            cache = new if cache is None else cache.then(new)
            assert cache.keys.shape[1] == (1 if name == "shazeer" else 4)
            assert torch.allclose(heads(x[:, t : t + 1], cache, at=t), whole[:, t : t + 1], atol=1e-10)


def test_an_older_segment_is_memory_at_negative_positions() -> None:
    """Transformer-XL: segment by segment with memory equals one long causal sequence, and no gradient goes back."""
    torch.manual_seed(0)
    heads = A.papers.dai(16, 4).double()
    x = torch.randn(1, 12, 16, dtype=torch.float64)
    whole = heads(x, heads.memory(x))
    older = heads.memory(x[:, :6]).detach().moved(-6)
    assert (older.start, older.last) == (-6, -1)
    second = heads(x[:, 6:], older.then(heads.memory(x[:, 6:])))
    assert torch.allclose(second, whole[:, 6:], atol=1e-10)
    assert not older.keys.requires_grad


def test_memory_tokens_are_seen_by_every_causal_query() -> None:
    heads = A.papers.sukhbaatar_memory(16, 4, count=3)
    x = torch.randn(2, 5, 16)
    look = heads.look(x, heads.memory(x))
    assert look.weights.shape == (2, 4, 5, 8)
    assert (look.weights[..., :3] > 0).all()
    assert not look.weights[..., 3:].triu(1).any()


def test_first_zero_means_memory_tokens() -> None:
    attention = A.Attention(A.ScaledDot(), scope=A.window(1) | A.first(0))
    x = torch.randn(1, 6, 4)
    memory = attention.memory(x[:, :2], start=-2).then(attention.memory(x))
    seen = attention.look(x, memory).weights[0, 0] > 0
    assert seen[:, :2].all()
    assert seen[3, 2:].tolist() == [False, False, True, True, True, False]


def test_joined_memories_keep_their_own_padding() -> None:
    attention = A.Attention(A.ScaledDot())
    x = torch.randn(2, 4, 6)
    memory = attention.memory(x, scope=A.lengths([4, 2])).then(attention.memory(x, scope=A.lengths([5, 7]), start=4))
    seen = attention.look(x, memory).weights[:, 0, 0] > 0
    assert seen.int().tolist() == [[1, 1, 1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 1, 1, 1, 0]]
    picked = attention.look(x[[1]], memory.pick(torch.tensor([1]))).weights[:, 0, 0] > 0
    assert torch.equal(picked, seen[1:])


@pytest.mark.parametrize("stride", [1, 2, 3, 4])
def test_pooled_keys_are_means_of_what_may_be_seen(stride: int) -> None:
    x = torch.randn(2, 2, 7, 4, dtype=torch.float64)
    memory = A.StridedPool(stride)(A.Attention(A.ScaledDot()).memory(x, scope=A.lengths([7, 3])))
    for b, length in enumerate((7, 3)):
        for i in range(len(memory)):
            rows = x[b, :, i * stride : min((i + 1) * stride, length)]
            expected = rows.mean(1) if rows.shape[1] else torch.zeros(2, 4).double()
            assert torch.allclose(memory.keys[b, :, i], expected)
    assert memory.positions.tolist() == [stride - 1 + stride * i for i in range(len(memory))]


def test_a_causal_query_sees_a_pooled_key_when_it_is_complete() -> None:
    """No future leaks through compression: a row is known when its last token is."""
    for part in (A.StridedPool(3), A.Linformer(9, 2)):
        heads = A.Heads(A.Attention(A.ScaledDot(), scope=A.causal), 8, 2, on_memory=part)
        x = torch.randn(1, 9, 8)
        changed = x.clone()
        changed[:, 5:] += 1
        before, after = (heads(y, heads.memory(y)) for y in (x, changed))
        assert torch.equal(before[:, :5], after[:, :5])
    pooled = A.Heads(A.Attention(A.ScaledDot(), scope=A.causal), 8, 2, on_memory=A.StridedPool(3))
    seen = pooled.look(x, pooled.memory(x)).weights[0, 0] > 0
    assert seen.int().tolist() == [[0, 0, 0]] * 2 + [[1, 0, 0]] * 3 + [[1, 1, 0]] * 3 + [[1, 1, 1]]


def test_keys_are_prepared_once() -> None:
    calls = []

    class Counting(A.General):
        def prepare(self, keys: torch.Tensor) -> torch.Tensor:
            calls.append(1)
            return super().prepare(keys)

    attention = A.Attention(Counting(4, 6))
    memory = attention.memory(torch.randn(1, 5, 6))
    for t in range(10):
        attention(torch.randn(1, 1, 4), memory, at=t)
    assert len(calls) == 1


def test_grouped_heads_share_their_memory() -> None:
    """Grouped equals full multi-head whose key and value rows repeat within a group."""
    torch.manual_seed(0)
    grouped, full = A.papers.ainslie(16, 4, 2), A.papers.vaswani(16, 4)
    with torch.no_grad():
        for name in ("query", "out"):
            getattr(full, name).load_state_dict(getattr(grouped, name).state_dict())
        for name in ("key", "value"):
            rows = getattr(grouped, name).weight.view(2, 4, 16).repeat_interleave(2, 0).reshape(16, 16)
            getattr(full, name).weight.copy_(rows)
    x = torch.randn(2, 5, 16)
    assert torch.allclose(grouped(x, grouped.memory(x)), full(x, full.memory(x)), atol=1e-6)
    assert grouped.memory(x).keys.shape == (2, 2, 5, 4)


def test_a_beam_leaves_a_causal_cache_simple() -> None:
    """Picked and grown at every step, the scope stays what it was: no chain of scopes grows with the sentence."""
    heads = A.papers.vaswani(16, 4)
    x = torch.randn(3, 6, 16)
    cache = heads.memory(x[:, :1], scope=A.causal)
    for t in range(1, 6):
        cache = cache.pick(torch.tensor([2, 0, 1])).then(heads.memory(x[:, t : t + 1], scope=A.causal, start=t))
    assert cache.scope is A.causal
    assert cache.moved(-6).scope is A.causal


def test_a_graph_for_each_sentence_is_picked_with_it() -> None:
    torch.manual_seed(0)
    attention, x = A.Attention(A.ScaledDot()), torch.randn(3, 5, 4)
    memory = attention.memory(x, scope=A.adjacency(torch.rand(3, 5, 5) > 0.5))
    rows = torch.tensor([2, 0, 0, 1])
    whole = attention.look(x, memory).weights
    assert torch.equal(attention.look(x[rows], memory.pick(rows)).weights, whole[rows])
