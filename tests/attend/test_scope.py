"""Scopes join as sets do, know their reach, and survive a reordered batch."""

from __future__ import annotations

import functools
import operator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard import attend as A

pytestmark = pytest.mark.unchecked
SIMPLE = st.one_of(
    st.just(A.everything),
    st.just(A.causal),
    st.just(A.itself),
    st.builds(A.window, st.integers(0, 5), st.integers(0, 5)),
    st.builds(A.dilated, st.integers(0, 4), st.integers(1, 3)),
    st.builds(A.strided, st.integers(1, 4)),
    st.builds(A.block, st.integers(1, 5)),
    st.builds(A.first, st.integers(-2, 3)),
    st.builds(A.lengths, st.lists(st.integers(-3, 9), min_size=3, max_size=3)),
)
SCOPES = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.builds(operator.and_, inner, inner), st.builds(operator.or_, inner, inner), st.builds(operator.inv, inner)
    ),
    max_leaves=6,
)
QUERIES, KEYS = torch.arange(-2, 8), torch.arange(-4, 9)


def table(scope: A.Scope) -> torch.Tensor:
    return scope.table(3, 2, QUERIES, KEYS).expand(3, 2, len(QUERIES), len(KEYS))


@given(SCOPES, SCOPES)
@settings(deadline=None, max_examples=200)
def test_joining_scopes_joins_their_tables(a: A.Scope, b: A.Scope) -> None:
    assert torch.equal(table(a & b), table(a) & table(b))
    assert torch.equal(table(a | b), table(a) | table(b))
    assert torch.equal(table(~a), ~table(a))
    assert torch.equal(table(~(a & b)), table(~a | ~b))
    assert torch.equal(table(a & A.everything), table(a))


@given(SCOPES)
@settings(deadline=None, max_examples=200)
def test_the_parts_of_a_scope_say_together_what_it_says(scope: A.Scope) -> None:
    whole = functools.reduce(operator.and_, (table(p) for p in scope.conjuncts), torch.ones((), dtype=torch.bool))
    assert torch.equal(whole.expand_as(table(scope)), table(scope))


@given(SCOPES)
@settings(deadline=None, max_examples=200)
def test_nothing_beyond_its_reach_is_seen(scope: A.Scope) -> None:
    behind = QUERIES[:, None] - KEYS
    beyond = (behind > scope.back) | (-behind > scope.ahead)
    assert not (table(scope) & beyond).any()


@given(SCOPES, st.lists(st.integers(0, 2), min_size=1, max_size=5), st.data())
@settings(deadline=None, max_examples=100)
def test_picking_rows_picks_the_table(scope: A.Scope, rows: list[int], data: st.DataObject) -> None:
    again = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=4))
    picked = scope.pick(torch.tensor(rows)).pick(torch.tensor(again))
    got = picked.table(len(again), 2, QUERIES, KEYS).expand(len(again), 2, len(QUERIES), len(KEYS))
    assert torch.equal(got, table(scope)[torch.tensor(rows)[torch.tensor(again)]])


@given(SCOPES, st.integers(0, 3), st.integers(0, 5))
@settings(deadline=None, max_examples=100)
def test_random_scopes_read_alike_fast_and_plain(scope: A.Scope, seed: int, at: int) -> None:
    torch.manual_seed(seed)
    attention = A.Attention(A.ScaledDot(), scope=scope)
    q, x = torch.randn(3, 4, 6), torch.randn(3, 7, 6)
    memory = attention.memory(x, scope=A.lengths([7, 2, 0]))
    look = attention.look(q, memory, at)
    assert torch.allclose(attention(q, memory, at), look.context, atol=2e-6)
    blind = look.weights.sum(-1) == 0
    assert torch.allclose(look.weights.sum(-1), 1.0 - blind.float(), atol=1e-5)


def test_names_say_what_they_are() -> None:
    assert (A.causal & A.window(3)).name == "causal & window(3, 3)"
    assert ((A.window(2) | A.first(1)) & ~A.itself).name == "(window(2, 2) | first(1)) & ~(itself)"


def test_axes_that_do_not_matter_stay_one_wide() -> None:
    assert A.lengths([1, 2, 3]).table(3, 2, QUERIES, KEYS).shape == (3, 1, 1, len(KEYS))
    assert A.causal.table(3, 2, QUERIES, KEYS).shape == (1, 1, len(QUERIES), len(KEYS))


def test_masks_of_two_three_and_four_axes() -> None:
    torch.manual_seed(0)
    full = torch.rand(3, 2, len(QUERIES), len(KEYS)) > 0.5
    for given_, expected in (
        (full, full),
        (full[:, 0], full[:, :1].expand_as(full)),
        (full[0, 0], full[:1, :1].expand_as(full)),
        (full[:, :, :1], full[:, :, :1].expand_as(full)),
    ):
        assert torch.equal(table(A.mask(given_, at=-2, start=-4)), expected)


def test_a_tree_sees_parents_and_children() -> None:
    #     0
    #    / \
    #   1   2
    #   |
    #   3
    seen = A.tree([-1, 0, 0, 1]).table(1, 1, torch.arange(4), torch.arange(4))[0, 0]
    assert seen.int().tolist() == [[1, 1, 1, 0], [1, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1]]


def test_contents_and_positions_join() -> None:
    attention = A.Attention(A.ScaledDot(), scope=A.Hashing(6, 4) & A.causal)
    x = torch.randn(2, 8, 6)
    weights = attention.look(x, attention.memory(x)).weights
    assert not weights.triu(1).any()
    assert (weights.diagonal(dim1=-2, dim2=-1) > 0).all()  # a vector always meets itself
