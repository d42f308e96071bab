"""Linear maps by whichever library multiplies faster on this processor; `F.linear` specifies them.

torch multiplies float32 by Intel's MKL. On AMD's processors oneDNN, which torch carries too, does it in less time:
it needs 0.83-0.93 of it for hundreds of rows and a weight as it is, and gradients of what came in likewise; for those
of weights MKL is the faster. The choice depends on the processor and on the weight alone, never on the number of rows
or a stopwatch: what a row becomes must not depend on its company, nor a run on the moment it was started.
"""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

_PLAIN = (Tensor, nn.Parameter)
LARGE = 1 << 16  # numbers of a weight from which on the difference is worth a detour


class Linear(nn.Linear):
    """x Wᵀ + b."""

    def forward(self, input: Float[Tensor, "*n i"]) -> Float[Tensor, "*n o"]:
        return mapped(input, self.weight, self.bias)


def mapped(x: Float[Tensor, "*n i"], weight: Float[Tensor, "o i"], bias: Tensor | None = None) -> Tensor:
    """x Wᵀ + b."""
    if not (weight.numel() >= LARGE and by_onednn() and _are_plain(x, weight)):
        return F.linear(x, weight, bias)
    if torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad):
        found: Tensor = _Mapped.apply(x, weight, bias)  # type: ignore[no-untyped-call]
        return found
    return _product(x, weight, bias)


@cache
def by_onednn() -> bool:
    """Whether oneDNN is the faster one here, and there."""
    return _maker() == "AuthenticAMD" and torch.backends.mkldnn.is_available() and _is_right()


def _maker() -> str:
    """Of the processor, as it says itself; "" where it cannot be asked."""
    told = Path("/proc/cpuinfo")
    for line in told.read_text(encoding="utf-8").splitlines() if told.is_file() else [platform.processor()]:
        for maker in ("AuthenticAMD", "GenuineIntel"):
            if maker in line:
                return maker
    return ""


def _is_right() -> bool:
    random = torch.Generator().manual_seed(1)
    x, weight, bias = (torch.randn(size, generator=random) for size in ((5, 7, 33), (20, 33), (20,)))
    try:
        with torch.no_grad():
            return torch.allclose(_product(x, weight, bias), F.linear(x, weight, bias), atol=1e-5)
    except (AttributeError, RuntimeError, NotImplementedError):
        return False


def _are_plain(x: Tensor, weight: Tensor) -> bool:
    """Numbers that are really there, as they are, in a processor's memory."""
    return (
        x.dtype is torch.float32
        and weight.dtype is torch.float32
        and x.is_cpu
        and type(x) in _PLAIN
        and type(weight) in _PLAIN
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
        and torch._C._get_tracing_state() is None
        and torch._C._functorch.maybe_current_level() is None
    )


def _product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    found: Tensor = torch.ops.mkldnn._linear_pointwise.default(x, weight, bias, "none", [], "")
    return found


class _Mapped(torch.autograd.Function):
    """The product and its gradients, each by the library that is faster at it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _product(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        to_x, to_weight, to_bias = ctx.needs_input_grad
        rows = grad.reshape(-1, grad.shape[-1])
        return (
            mapped(grad, weight.t()) if to_x else None,
            rows.t() @ x.reshape(-1, x.shape[-1]) if to_weight else None,
            rows.sum(0) if to_bias else None,
        )
