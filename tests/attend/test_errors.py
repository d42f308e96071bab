"""Each misuse says what came, what is allowed, and what to try."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch

from regard import attend as A

pytestmark = pytest.mark.unchecked
X = torch.randn(2, 5, 8)
dot = A.Attention(A.ScaledDot())


def with_mask(mask: torch.Tensor) -> object:
    return dot.look(X, dot.memory(X, scope=A.mask(mask)))


def small_location() -> object:
    attention = A.papers.luong_location(d_query=8, longest=4)
    return attention(X, attention.memory(X))


def short_linformer() -> object:
    heads = A.papers.wang_linformer(d_model=8, heads=2, longest=4)
    return heads.memory(X)


def gap_in_cache() -> object:
    return dot.memory(X).then(dot.memory(X, start=7))


MISUSES: list[tuple[Callable[[], object], str]] = [
    (
        lambda: with_mask(torch.ones(5, 5)),
        "a mask of torch.float32 could mean .* True means may see: try mask.bool()",
    ),
    (lambda: with_mask(torch.ones(5, 5, dtype=torch.int)), "a mask of torch.int32 .*try mask.bool()"),
    (
        lambda: with_mask(torch.ones(3, 5, dtype=torch.bool)),
        r"shape \(3, 5\) does not fit 2 rows, 1 heads, 5 queries and 5",
    ),
    (lambda: with_mask(torch.ones(3, 5, 5, dtype=torch.bool)), "'mask' was made for 3 rows in a batch and meets 2"),
    (lambda: with_mask(torch.ones(5, 9, dtype=torch.bool)), "'mask' was made for 9 keys and meets 5"),
    (lambda: with_mask(torch.ones(5, dtype=torch.bool)), r"\(b, h, q, k\); got \(5,\): try lengths"),
    (lambda: A.papers.vaswani(250, 8), "d_model=250 cannot be split evenly over heads=8; try 248 or 256"),
    (lambda: A.papers.vaswani(4, 8), "d_model=4 cannot be split evenly over heads=8; try 8$"),
    (lambda: A.papers.ainslie(8, 4, 3), "groups=3 cannot serve heads=4 evenly; try 1, 2, 4"),
    (lambda: dot(X[..., :6], dot.memory(X)), r"6 wide and keys 8 wide: try General\(6, 8\), or Heads"),
    (lambda: dot.look(X[..., :6], dot.memory(X)), r"6 wide and keys 8 wide: try General\(6, 8\), or Heads"),
    (
        lambda: A.papers.bahdanau(6, 8, 4)(X, A.papers.bahdanau(6, 8, 4).memory(X)),
        "built for vectors 6 wide and got 8",
    ),
    (lambda: A.papers.vaswani(16, 2)(X, dot.memory(X)), "built for d_model=16; got 8"),
    (lambda: A.papers.vaswani(16, 2).memory(X), "built for memory 16 wide; got 8"),
    (lambda: A.Scope("near", lambda q, k: q == k), r"'near' asks with \(q, k\); .*write lambda b, h, q, k"),
    (
        lambda: dot.look(X, dot.memory(X, scope=A.Scope("odd", lambda b, h, q, k: q - k))),
        "'odd' answered torch.int64",
    ),
    (small_location, "reach 4 places and this memory has 5 keys; build it with longest=5"),
    (short_linformer, "built for at most 4 keys and got 5; build it with longest=5"),
    (lambda: dot(X, dot.memory(X[:1])), "2 rows of queries look at 1 rows of memory; .*expand one side"),
    (lambda: dot(X[0], dot.memory(X)), r"query of shape \(5, 8\): give \(batch, length, width\).*state\[:, None\]"),
    (lambda: dot.memory(X, X[:, :4]), r"keys \(2, 5, 8\) and values \(2, 4, 8\) differ .* one value for each key"),
    (lambda: A.papers.vaswani(8, 2).memory(X, X[:, :4]), r"keys \(2, 5, 8\) and values \(2, 4, 8\) differ"),
    (gap_in_cache, "ends at position 4 cannot go on at 7; prepare the newer part with start=5"),
    (lambda: A.lengths(torch.tensor([1.0, 2.0])), "one whole number per sentence; got torch.float32"),
    (lambda: dot(X, dot.memory(X, scope=A.lengths([5]))), "'lengths' was made for 1 rows in a batch and meets 2"),
    (lambda: A.window(-1), r"window\(-1, -1\) has a negative side"),
    (lambda: A.strided(0), "strided wants step >= 1; got 0"),
    (lambda: A.adjacency(torch.ones(3, 4, dtype=torch.bool)), r"shape \(3, 4\): try edges"),
    (lambda: A.edges([(0, 5)], 3), r"edge \(0, 5\) leaves the graph of 3 nodes"),
    (lambda: A.TopK(0), "TopK wants count >= 1; got 0"),
    (lambda: A.LocalP(8, 0), "LocalP wants reach >= 1"),
    (lambda: A.Gumbel(0.0), r"a temperature is > 0; got 0.0: use Hard\(\)"),
    (lambda: A.Cosine(-1.0), "strength > 0; got -1.0"),
    (lambda: A.Rotary(5), "d_key must be even; got 5: try 6"),
    (lambda: A.Hashing(8, 5), "even number of buckets; got 5: try 6"),
    (lambda: A.Linformer(8, 2)(A.Memory(X[None], X[None], A.causal)), "scope 'causal' cannot be compressed"),
    (lambda: A.Attention(A.ScaledDot(), dropout=1.5), r"dropout is a share in \[0, 1\); got 1.5"),
    (lambda: A.papers.build("bahdenau"), "no mechanism 'bahdenau' in the catalogue; perhaps you meant bahdanau"),
    (lambda: A.papers.build("vaswani", d_model=8), "'vaswani' also needs heads; it asks for d_model, heads"),
    (lambda: A.papers.build("beltagy", d_model=8, heads=2, raech=3), "no size 'raech' .* perhaps you meant reach"),
]


@pytest.mark.parametrize(("misuse", "message"), MISUSES, ids=[re.sub(r"\W+", " ", m)[:60] for _, m in MISUSES])
def test_misuse_is_answered(misuse: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        misuse()
