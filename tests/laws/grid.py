"""What the laws range over: every part beside its oracle, every composition, every paper of the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard import attend as A
from regard.attend.laws import Subject
from tests import oracle

B, H, Q, K, D, V = 2, 2, 5, 7, 6, 4
Array = Any


def array(x: Tensor) -> Array:
    return x.detach().double().numpy()


def linear(layer: nn.Linear, x: Array) -> Array:
    """A linear layer in NumPy."""
    return x @ array(layer.weight).T + (0 if layer.bias is None else array(layer.bias))


SCORES: dict[str, tuple[Callable[[], A.Score], Callable[[Any, Array, Array], Array]]] = {
    "dot": (A.Dot, lambda s, q, k: oracle.dot(q, k)),
    "scaled": (A.ScaledDot, lambda s, q, k: oracle.scaled_dot(q, k)),
    "general": (lambda: A.General(D, D), lambda s, q, k: oracle.general(q, k, array(s.key.weight))),
    "additive": (
        lambda: A.Additive(D, D, 5),
        lambda s, q, k: oracle.additive(
            q, k, array(s.query.weight), array(s.key.weight), array(s.strength), array(s.query.bias)
        ),
    ),
    "concat": (
        lambda: A.Concat(D, D, 5),
        lambda s, q, k: oracle.concat(q, k, array(s.joint.weight), array(s.strength)),
    ),
    "linear_concat": (
        lambda: A.LinearConcat(D, D),
        lambda s, q, k: oracle.linear_concat(
            q, k, np.concatenate([array(s.query.weight)[0], array(s.key.weight)[0]])
        ),
    ),
    "cosine": (
        lambda: A.Cosine(3.0, heads=H),
        lambda s, q, k: oracle.cosine(q, k, np.exp(array(s.log_strength)).reshape(-1)),
    ),
    "location": (
        lambda: A.Location(D, 12),
        lambda s, q, k: oracle.location(q, array(s.place.weight), k.shape[2]),
    ),
    "leaky": (
        lambda: A.Leaky(D, D, heads=H),
        lambda s, q, k: oracle.leaky(q, k, array(s.query)[..., 0], array(s.key)[..., 0]),
    ),
    "kernel_elu": (lambda: A.Kernel(A.EluPlusOne()), lambda s, q, k: oracle.kernel(q, k, oracle.elu1)),
    "kernel_favor": (
        lambda: A.Kernel(A.Favor(D, 9)),
        lambda s, q, k: oracle.kernel(q, k, lambda x: oracle.favor(x, array(s.features.directions))),
    ),
    "mapped": (
        lambda: A.Mapped(nn.Linear(D, 3), nn.Sequential(nn.Linear(D, 3), nn.Tanh())),
        lambda s, q, k: oracle.dot(linear(s.query, q), np.tanh(linear(s.key[0], k))),
    ),
}


def _centres(s: A.LocalP, scores: Array, allowed: Array, q: Array) -> Array:
    return oracle.local_p_centre(q, array(s.hidden.weight), array(s.place.weight)[0], allowed)


def _ntm(s: A.Turing, scores: Array, allowed: Array, q: Array) -> Array:
    def softplus(x: Array) -> Array:
        return np.log1p(np.exp(x))

    def softmax(x: Array) -> Array:
        return np.exp(x) / np.exp(x).sum(-1, keepdims=True)

    beta, gamma = softplus(linear(s.strength, q))[..., 0], 1 + softplus(linear(s.sharpness, q))[..., 0]
    gate = 1 / (1 + np.exp(-linear(s.gate, q)))[..., 0]
    shift = softmax(linear(s.shift.choose, q))  # type: ignore[arg-type]
    first = np.zeros(scores.shape[:2] + scores.shape[3:])
    for b, h in np.ndindex(*scores.shape[:2]):
        places = np.flatnonzero(allowed[b, h, 0])
        first[(b, h, places[0]) if len(places) else (b, h)] = float(len(places) > 0)
    return oracle.ntm(scores, allowed, beta, gate, shift, gamma, first)


SELECTS: dict[str, tuple[Callable[[], A.Select], Callable[[Any, Array, Array, Array], Array]]] = {
    "softmax": (A.Softmax, lambda s, x, a, q: oracle.softmax(x, a)),
    "sparsemax": (A.Sparsemax, lambda s, x, a, q: oracle.sparsemax(x, a)),
    "top_k": (lambda: A.TopK(3), lambda s, x, a, q: oracle.top_k(x, a, 3)),
    "hard": (A.Hard, lambda s, x, a, q: oracle.likeliest(x, a)),
    "gumbel": (lambda: A.Gumbel(0.5), lambda s, x, a, q: oracle.softmax(x / 0.5, a)),
    "straight_through": (lambda: A.StraightThrough(0.5), lambda s, x, a, q: oracle.likeliest(x, a)),
    "local_p": (lambda: A.LocalP(D, 2), lambda s, x, a, q: oracle.local_p(x, a, _centres(s, x, a, q), 2)),
    "turing": (lambda: A.Turing(D), _ntm),
    "competition": (A.Competition, lambda s, x, a, q: oracle.slots(x, a)),
}

GRAPH = np.random.default_rng(0).random((12, 12)) < 0.4
TREE = [-1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5]


def _in_graph(b: int, h: int, q: int, k: int) -> bool:
    return 0 <= q < 12 and 0 <= k < 12 and bool(GRAPH[q, k])


def _in_tree(b: int, h: int, q: int, k: int) -> bool:
    return 0 <= q < 12 and 0 <= k < 12 and (q == k or TREE[q] == k or TREE[k] == q)


SCOPES: dict[str, tuple[A.Scope, oracle.Scope]] = {
    "everything": (A.everything, oracle.everything),
    "causal": (A.causal, oracle.causal),
    "window": (A.window(2), oracle.window(2, 2)),
    "past_window": (A.window(2, 0), oracle.window(2, 0)),
    "dilated": (A.dilated(2, 2), oracle.dilated(2, 2)),
    "strided": (A.strided(3), oracle.strided(3)),
    "block": (A.block(3), oracle.block(3)),
    "first": (A.first(1), oracle.first(1)),
    "adjacency": (A.adjacency(torch.from_numpy(GRAPH)), _in_graph),
    "tree": (A.tree(TREE), _in_tree),
    "strictly_before": (A.causal & ~A.itself, lambda b, h, q, k: k < q),
    "child": (
        A.causal & (A.window(1, 0) | A.strided(3)),
        lambda b, h, q, k: k <= q and (q - k <= 1 or (q - k) % 3 == 0),
    ),
    "longformer": (
        (A.window(1) | A.first(1)) & ~A.itself,
        lambda b, h, q, k: (abs(q - k) <= 1 or k < 1 or q < 1) and q != k,
    ),
}

BIASES: dict[str, tuple[Callable[[], A.Bias], Callable[[Any, Array, Array, list[int], list[int]], Array]]] = {
    "alibi": (lambda: A.Alibi(H), lambda s, q, k, i, j: oracle.alibi(H, i, j)),
    "relative": (lambda: _stirred(A.Relative(H, 2)), lambda s, q, k, i, j: oracle.relative(array(s.table), i, j)),
    "relative_keys": (
        lambda: A.RelativeKeys(D, 2),
        lambda s, q, k, i, j: oracle.shaw(q, array(s.table), i, j),
    ),
    "xl": (
        lambda: _stirred(A.TransformerXL(H, D, 8)),
        lambda s, q, k, i, j: oracle.xl(q, k, array(s.u)[:, 0], array(s.v)[:, 0], array(s.position.weight), i, j, 8),
    ),
    "span": (
        lambda: A.AdaptiveSpan(H, 6, ramp=2, start=0.4),
        lambda s, q, k, i, j: oracle.adaptive_span(array(s.spans)[:, 0, 0], 2, i, j),
    ),
    "self_last": (
        A.SelfLast,
        lambda s, q, k, i, j: np.array([[[-1e5 if a == b else 0.0 for b in j] for a in i]]),
    ),
}


def _stirred(module: Any) -> Any:
    """Parameters that start at zero would let a wrong formula pass."""
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    return module


SIZES: dict[str, object] = {
    **{"d_query": 8, "d_key": 8, "d_hidden": 5, "d_model": 8, "heads": 2},
    **{"groups": 1, "longest": 16, "reach": 2, "ramp": 2},
}


def papers() -> Iterator[Subject]:
    """Every paper of the catalogue, at a small size."""
    for name in A.papers.CATALOGUE:
        sizes = {key: value for key, value in SIZES.items() if name != "content" or key != "heads"}
        yield Subject(name, lambda name=name, sizes=sizes: _live(A.papers.build(name, **sizes)), 8, 8)


def compositions() -> Iterator[Subject]:
    """Scores x selections x scopes, and every bias."""
    for score in SCORES:
        for select in SELECTS:
            for scope in SCOPES:
                yield composition(score, select, scope)
    for bias in BIASES:
        for scope in SCOPES:
            yield composition("scaled", "softmax", scope, bias)


def some_compositions() -> Iterator[Subject]:
    """Every pair of score, selection and scope at least once: the grid at a tenth of its size."""
    for i, scope in enumerate(SCOPES):
        for j, score in enumerate(SCORES):
            yield composition(score, list(SELECTS)[(i + j) % len(SELECTS)], scope)
        yield composition("scaled", "softmax", scope, list(BIASES)[i % len(BIASES)])


def composition(score: str, select: str, scope: str, bias: str | None = None) -> Subject:
    def make() -> A.Attention:
        return A.Attention(
            SCORES[score][0](), SELECTS[select][0](), SCOPES[scope][0], BIASES[bias][0]() if bias else None
        )

    return Subject("-".join(filter(None, (score, select, scope, bias))), make, D, D, H)


def _live(module: nn.Module) -> nn.Module:
    """A mechanism that starts as the identity or at zero is stirred, or every law would hold for nothing."""
    for parameter in module.parameters():
        if parameter.requires_grad and not bool(parameter.any()):
            nn.init.normal_(parameter, std=0.5)
    return module
