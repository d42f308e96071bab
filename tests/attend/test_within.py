"""Rows that look within themselves: as if memory and query were made one by one."""

from __future__ import annotations

import pytest
import torch

from regard.attend import causal, everything, lengths, papers


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(2, 9, 16, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("build", [papers.vaswani, papers.shazeer, papers.su])
def test_in_one_call(build: type, x: torch.Tensor) -> None:
    heads = build(16, 4).eval()
    for at in (0, 3):
        memory = heads.memory(x, scope=causal, start=at)
        assert torch.equal(heads.within(x, causal, at), heads(x, memory, at))
        assert torch.equal(heads.look_within(x, causal, at).weights, heads.look(x, memory, at).weights)


@torch.no_grad()
def test_nan_in_padding_stays_there(x: torch.Tensor) -> None:
    heads, scope = papers.vaswani(16, 4).eval(), lengths([9, 6])
    clean = heads.within(x, scope)
    x[1, 6:] = torch.nan
    dirty = heads.within(x, scope)
    torch.testing.assert_close(dirty[0], clean[0], atol=2e-6, rtol=0)
    torch.testing.assert_close(dirty[1, :6], clean[1, :6], atol=2e-6, rtol=0)


def test_another_width_is_refused(x: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="32 wide; got 16"):
        papers.vaswani(32, 4).within(x, everything)
