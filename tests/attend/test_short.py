"""Short rows while learning: two products in place of the fused kernel, and the same answer."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from regard import attend as A
from regard.attend import fast, short

LIMITS = {
    "everything": (A.everything, A.everything),
    "causal": (A.causal, A.everything),
    "padding": (A.everything, A.lengths([9, 6])),
    "both": (A.causal, A.lengths([9, 6])),
    "window": (A.window(2), A.everything),
}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Tensor | None]:
    """What every call of the short reading gave."""
    found: list[Tensor | None] = []

    def spy(*given: Any) -> Tensor | None:
        found.append(short.softmax_read(*given))
        return found[-1]

    monkeypatch.setattr(fast, "softmax_read", spy)
    return found


def leaves(dtype: torch.dtype, keys: int = 9, heads: int = 3) -> tuple[Tensor, Tensor, Tensor]:
    """Heads as a projection leaves them: side by side."""
    torch.manual_seed(0)
    shapes = ((2, 9, 3, 8), (2, keys, heads, 8), (2, keys, heads, 5))
    query, key, value = (torch.randn(shape).to(dtype).requires_grad_() for shape in shapes)
    return query, key, value


def both(attention: A.Attention, padding: A.Scope, dtype: torch.dtype) -> list[tuple[Tensor, list[Tensor]]]:
    """Context and gradients by the plain reading in double precision, and by a call in this one."""
    found = []
    for reading, kind in ((lambda *given: attention.look(*given).context, torch.float64), (attention, dtype)):
        given = [x.detach().to(kind).requires_grad_() for x in leaves(dtype)]
        query, keys, values = (x.transpose(1, 2) for x in given)
        context = reading(query, attention.memory(keys, values, padding))
        weights = torch.linspace(-1, 1, context.numel()).view_as(context).to(kind)
        found.append((context.detach(), list(torch.autograd.grad((context * weights).sum(), given))))
    return found


@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize(
    ("dtype", "near"), [(torch.float64, 1e-12), (torch.float32, 2e-6), (torch.bfloat16, 0.02)], ids=str
)
def test_it_equals_the_plain_reading(limits: Any, dtype: torch.dtype, near: float, read: list[Tensor | None]) -> None:
    scope, padding = limits
    (plain, plain_gradients), (quick, gradients) = both(A.Attention(A.ScaledDot(), scope=scope), padding, dtype)
    assert len(read) == 1
    assert read[0] is not None
    for one, other in zip([quick, *gradients], [plain, *plain_gradients], strict=True):
        assert one.dtype == dtype
        assert float((one.double() - other).abs().max()) <= near * max(1.0, float(other.abs().max()))


def test_who_sees_nothing_reads_zeros_by_the_fused_kernel(read: list[Tensor | None]) -> None:
    query, keys, values = (x.transpose(1, 2) for x in leaves(torch.float32))
    attention = A.Attention(A.ScaledDot())
    context = attention(query, attention.memory(keys, values, A.lengths([9, 0])))
    assert read == [None]
    assert not context[1].any()


def test_it_is_for_learning_short_rows_on_a_head_each(
    read: list[Tensor | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    attention = A.Attention(A.ScaledDot())
    query, keys, values = (x.transpose(1, 2) for x in leaves(torch.float32))
    with torch.no_grad():
        attention(query, attention.memory(keys, values))
    attention(query.detach(), attention.memory(keys.detach(), values.detach()))
    _, few, of_few = (x.transpose(1, 2) for x in leaves(torch.float32, heads=1))
    attention(query, attention.memory(few, of_few))
    biased = A.Attention(A.ScaledDot(), bias=A.Alibi(3))
    biased(query, biased.memory(keys, values))
    monkeypatch.setitem(short.KEYS, torch.float32, 8)
    attention(query, attention.memory(keys, values))
    assert not read
    monkeypatch.setitem(short.KEYS, torch.float32, 9)
    attention(query, attention.memory(keys, values))
    assert len(read) == 1


def test_under_autocast_it_keeps_the_precision_it_is_given(read: list[Tensor | None]) -> None:
    attention, x = A.Attention(A.ScaledDot()), torch.randn(2, 3, 9, 8, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        context = attention(x, attention.memory(x))
        heads = A.papers.vaswani(d_model=16, heads=4)
        said = heads(y := torch.randn(2, 5, 16), heads.memory(y))
    assert context.dtype == torch.float32
    assert said.dtype == torch.bfloat16
    assert len(read) == 2
    (F.mse_loss(context, torch.zeros_like(context)) + said.float().sum()).backward()
    assert x.grad is not None
    assert x.grad.dtype == torch.float32
