"""Short rows while learning, on a processor: two products and their gradients, in place of the fused kernel.

A sentence has some dozens of words. There torch's fused kernel with its gradient needs 1.1 to 2 times as long as two
products, and in bfloat16 up to ten times (two cores, heads 32 and 64 wide). With more keys it catches up: weights,
which two products keep for the gradient, are then not in the cache any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.attend.memory import Memory

KEYS = {torch.float64: 96, torch.float32: 96, torch.bfloat16: 192}  # up to which two products are faster

Query = Float[Tensor, "b h q d"]
Context = Float[Tensor, "b h q v"]


_wanted = ContextVar("short", default=True)


@contextmanager
def by_the_fused_kernel() -> Iterator[None]:
    """Within it short rows are read as an accelerator reads them: for counting what that would cost."""
    before = _wanted.set(False)
    try:
        yield
    finally:
        _wanted.reset(before)


def is_short(asked: Query, memory: Memory) -> bool:
    """Whether these rows are to be read by `softmax_read`."""
    keys, values = memory.keys, memory.values
    return (
        _wanted.get()
        and torch.is_grad_enabled()
        and (asked.requires_grad or keys.requires_grad or values.requires_grad)
        and max(asked.shape[2], keys.shape[2]) <= KEYS.get(asked.dtype, 0)
        and asked.dtype == keys.dtype == values.dtype
        and asked.shape[1] == keys.shape[1]  # a head each
        and asked.is_cpu
        and type(asked) is Tensor
        and not torch.compiler.is_compiling()
        and torch._C._functorch.maybe_current_level() is None
    )


def softmax_read(
    asked: Query, memory: Memory, scale: float, allowed: Bool[Tensor, "#b #h #q #k"] | None
) -> Context | None:
    """Softmax of a scaled dot product; None where somebody may see nothing, which softmax cannot tell."""
    if allowed is not None and not bool(allowed.any(-1).all()):
        return None
    with torch.autocast("cpu", enabled=False):  # in the precision in which they come, as the gradient will be
        return _SoftmaxRead.apply(asked, memory.keys, memory.values, scale, allowed)  # type: ignore[no-any-return,no-untyped-call]


class _SoftmaxRead(torch.autograd.Function):
    """softmax(scale · q kᵀ) v, and its three gradients."""

    @staticmethod
    def forward(
        ctx: Any, asked: Tensor, keys: Tensor, values: Tensor, scale: float, allowed: Tensor | None
    ) -> Tensor:
        batch, heads = asked.shape[:2]
        q, k, v = (x.flatten(0, 1) for x in (asked, keys, values))
        scores = torch.baddbmm(q.new_empty(()), q, k.transpose(1, 2), beta=0, alpha=scale)
        if allowed is not None:
            hidden = torch.zeros_like(allowed, dtype=scores.dtype).masked_fill_(~allowed, -torch.inf)
            scores.view(batch, heads, *scores.shape[1:]).add_(hidden)
        weights = torch.softmax(scores, -1, out=scores)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale, ctx.shape = scale, (batch, heads)
        return torch.bmm(weights, v).view(batch, heads, asked.shape[2], values.shape[3])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, weights = ctx.saved_tensors
        grad = grad.flatten(0, 1)
        to_values = torch.bmm(weights.transpose(1, 2), grad)
        to_weights = torch.bmm(grad, v.transpose(1, 2))
        to_scores = torch._softmax_backward_data(to_weights, weights, -1, weights.dtype)
        to_asked = torch.baddbmm(q.new_empty(()), to_scores, k, beta=0, alpha=ctx.scale)
        to_keys = torch.baddbmm(k.new_empty(()), to_scores.transpose(1, 2), q, beta=0, alpha=ctx.scale)
        return *(x.unflatten(0, ctx.shape) for x in (to_asked, to_keys, to_values)), None, None
