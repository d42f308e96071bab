"""Queries, keys and values by one product: the same numbers, and never stale ones."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from regard.attend import Heads, causal, everything, lengths, papers
from regard.attend.fast import whatever_the_company
from regard.attend.maps import one_product


def _maps(heads: Heads) -> tuple[nn.Linear, nn.Linear, nn.Linear]:
    return heads.query, heads.key, heads.value


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(2, 9, 16, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("build", [papers.vaswani, papers.shazeer, papers.su])
@torch.no_grad()
def test_one_product_is_what_the_maps_make(build: type, x: torch.Tensor) -> None:
    heads = build(16, 4).eval()
    made = one_product(x, *_maps(heads))
    assert made is not None
    for got, layer in zip(made, _maps(heads), strict=True):
        torch.testing.assert_close(got, layer(x), atol=2e-6, rtol=0)


@torch.no_grad()
def test_what_was_learned_meanwhile_is_seen(x: torch.Tensor) -> None:
    """There is no copy that could be old: not even of weights changed behind torch's back."""
    heads = papers.vaswani(16, 4).eval()
    for change in (
        lambda: heads.key.weight.add_(1),
        lambda: heads.value.weight.data.mul_(2),
        lambda: heads.load_state_dict(papers.vaswani(16, 4).state_dict()),
    ):
        before = heads.within(x)
        change()
        assert one_product(x, *_maps(heads)) is not None
        assert not torch.equal(heads.within(x), before)
        torch.testing.assert_close(heads.within(x), heads(x, heads.memory(x)), atol=2e-6, rtol=0)


def test_learned_apart(x: torch.Tensor) -> None:
    heads = papers.vaswani(16, 4)
    heads.within(x).sum().backward()
    found = [parameter.grad for parameter in heads.parameters()]
    heads.zero_grad()
    heads(x, heads.memory(x)).sum().backward()
    for one, other in zip(found, heads.parameters(), strict=True):
        assert one is not None
        assert other.grad is not None
        assert torch.equal(one, other.grad)


@torch.no_grad()
def test_maps_that_lie_apart_are_asked_one_by_one(x: torch.Tensor) -> None:
    heads = papers.vaswani(16, 4).eval()
    moved = copy.deepcopy(heads)
    assert one_product(x, *_maps(moved)) is None
    torch.testing.assert_close(moved.within(x, causal), heads.within(x, causal), atol=2e-6, rtol=0)
    biased = papers.vaswani(16, 4)
    biased.query = nn.Linear(16, 16)
    assert one_product(x, *_maps(biased)) is None
    swapped = (heads.key, heads.query, heads.value)
    assert one_product(x, *swapped) is None


@torch.no_grad()
def test_who_listens_to_a_map_hears_it(x: torch.Tensor) -> None:
    heads, heard = papers.vaswani(16, 4).eval(), []
    heads.value.register_forward_hook(lambda *_: heard.append(1))
    heads.within(x)
    assert heard


@torch.no_grad()
def test_a_search_asks_them_one_by_one(x: torch.Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows must not depend on their company, which was tried for each map and not for all together."""
    heads, asked = papers.vaswani(16, 4).eval(), []
    monkeypatch.setattr("regard.attend.heads.one_product", lambda *_: asked.append(1))
    heads.within(x)
    with whatever_the_company():
        heads.within(x)
    assert len(asked) == 1


@torch.no_grad()
def test_nan_in_padding_stays_there(x: torch.Tensor) -> None:
    heads, scope = papers.vaswani(16, 4).eval(), lengths([9, 6])
    clean = heads.within(x, scope)
    x[1, 6:] = torch.nan
    dirty = heads.within(x, scope)
    torch.testing.assert_close(dirty[0], clean[0], atol=2e-6, rtol=0)
    torch.testing.assert_close(dirty[1, :6], clean[1, :6], atol=2e-6, rtol=0)


def test_another_width_is_refused(x: torch.Tensor) -> None:
    with torch.no_grad(), pytest.raises(ValueError, match="d_model=32; got 16"):
        papers.vaswani(32, 4).within(x, everything)
