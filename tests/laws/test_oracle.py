"""Weights and contexts equal those of an oracle in NumPy that was written without the package."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from regard import attend as A
from tests import oracle
from tests.laws.grid import BIASES, SCOPES, SCORES, SELECTS, B, D, H, K, Q, V, array

TOLERANCE = {torch.float32: 2e-6, torch.float64: 1e-10}


def _data(seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    return tuple(  # type: ignore[return-value]
        torch.randn(B, H, n, d, generator=g, dtype=torch.float64) for n, d in ((Q, D), (K, D), (K, V))
    )


def _check(score: str, select: str, scope: str, bias: str | None, at: int, start: int, dtype: torch.dtype) -> None:
    torch.manual_seed(3)
    attention = A.Attention(
        SCORES[score][0](), SELECTS[select][0](), SCOPES[scope][0], BIASES[bias][0]() if bias else None
    )
    attention.to(dtype).eval()
    q, k, v = _data(5)
    counts = [start + K, start + 4]
    memory = attention.memory(k.to(dtype), v.to(dtype), A.lengths(counts), start)
    look = attention.look(q.to(dtype), memory, at)

    queries, keys = list(range(at, at + Q)), list(range(start, start + K))
    hidden = np.arange(K)[None] >= np.array([K, 4])[:, None]
    clean_k, clean_v = (np.where(hidden[:, None, :, None], 0.0, x.numpy()) for x in (k, v))
    allowed = oracle.table(SCOPES[scope][1], B, H, queries, keys) & ~hidden[:, None, None]
    scores = SCORES[score][1](attention.score, q.numpy(), clean_k)
    if bias is not None:
        scores = scores + BIASES[bias][1](attention.bias, q.numpy(), clean_k, queries, keys)
        allowed = allowed & np.isfinite(scores)
        scores = np.where(np.isfinite(scores), scores, 0.0)
    weights = SELECTS[select][1](attention.select, scores, allowed, q.numpy())

    np.testing.assert_allclose(array(look.weights), weights, atol=TOLERANCE[dtype])
    np.testing.assert_allclose(array(look.context), oracle.read(weights, clean_v), atol=3 * TOLERANCE[dtype])
    assert not look.weights[~torch.from_numpy(np.broadcast_to(allowed, weights.shape).copy())].any()


@pytest.mark.unchecked
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("select", SELECTS)
@pytest.mark.parametrize("score", SCORES)
def test_every_score_selection_and_scope(score: str, select: str, dtype: torch.dtype) -> None:
    for scope in SCOPES:
        _check(score, select, scope, None, 0, 0, dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("scope", SCOPES)
def test_memory_at_negative_positions(scope: str, dtype: torch.dtype) -> None:
    for select in SELECTS:
        _check("scaled", select, scope, None, 2, -3, dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("bias", BIASES)
def test_every_bias(bias: str, dtype: torch.dtype) -> None:
    for scope in SCOPES:
        for at, start in ((0, 0), (2, -3)):
            _check("scaled", "softmax", scope, bias, at, start, dtype)


@pytest.mark.parametrize("heads", [1, 2, 3, 4, 6, 8, 12])
def test_alibi_slopes(heads: int) -> None:
    memory = A.Memory(torch.zeros(1, heads, 5, 2), torch.zeros(1, heads, 5, 2))
    added = A.Alibi(heads)(torch.zeros(1, heads, 4, 2), memory, 0)
    np.testing.assert_allclose(array(added)[0], oracle.alibi(heads, range(4), range(5)), rtol=1e-6)


def test_rotary() -> None:
    x = torch.randn(1, 2, 5, 6, dtype=torch.float64)
    np.testing.assert_allclose(array(A.Rotary(6)(x, 3)), oracle.rotary(x.numpy(), range(3, 8)), atol=1e-12)


def test_rotary_scores_depend_on_distance_alone() -> None:
    turn, q, k = A.Rotary(6), torch.randn(1, 1, 1, 6).double(), torch.randn(1, 1, 1, 6).double()
    near = (turn(q, 5) * turn(k, 2)).sum()
    assert torch.allclose(near, (turn(q, 105) * turn(k, 102)).sum(), atol=1e-12)


def test_hashing_sees_the_same_bucket_in_any_round() -> None:
    scoping = A.Hashing(D, 4, rounds=2)
    q, k, v = (x.float() for x in _data(2))
    attention = A.Attention(A.ScaledDot(), scope=scoping)
    seen = attention.look(q, attention.memory(k, v)).weights > 0
    side = [
        np.einsum("bhnd,df->bhnf", x, array(scoping.directions)[r, 0, 0]) for r in (0, 1) for x in map(array, (q, k))
    ]
    bucket = [np.concatenate([s, -s], -1).argmax(-1) for s in side]
    same = (bucket[0][..., None] == bucket[1][..., None, :]) | (bucket[2][..., None] == bucket[3][..., None, :])
    assert (seen.numpy() == same).all()


def test_routing_sees_the_same_cluster_and_settles_on_clusters() -> None:
    torch.manual_seed(0)
    routing = A.Routing(2, 2, decay=0.5)
    x = torch.tensor([[[[1.0, 0.1], [1.0, -0.1], [-1.0, 0.1], [-1.0, -0.1]]]])
    for _ in range(20):
        routing.settle(x)
    attention = A.Attention(A.ScaledDot(), scope=routing)
    seen = attention.look(x, attention.memory(x)).weights[0, 0] > 0
    assert seen.tolist() == [[True, True, False, False]] * 2 + [[False, False, True, True]] * 2
