"""Dropout whose random numbers cost little: one byte each, eight from every draw."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

SIDES = 256  # a byte decides, so shares are multiples of 1/256; what is kept is scaled by the share really kept


class ResidualDropout(nn.Module):
    """`x + dropout(change)`, in one pass. Vaswani et al. 2017, 5.4 (residual dropout).

    On a CPU drawing torch's random numbers takes a tenth of a small model's training; here the bytes come from a
    generator that torch's own seeds anew for each call, so the same seed still gives the same masks.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor, change: Tensor) -> Tensor:
        """`x`, changed; some of the change is left out while training."""
        if not self.training or self.share == 0:
            return x + change
        if x.device.type != "cpu":
            return x + F.dropout(change, self.share)
        added: Tensor = _AddKept.apply(x, change, *_kept(change, self.share))  # type: ignore[no-untyped-call]
        return added


class Dropout(nn.Module):
    """Some of `x` left out while training, the rest scaled up."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        """`x`, or what is left of it."""
        if not self.training or self.share == 0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.share)
        kept, scale = _kept(x, self.share)
        return x * kept.mul_(scale)


class _AddKept(torch.autograd.Function):
    """x + scale · kept · change."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, change: Tensor, kept: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(kept)
        ctx.scale, ctx.dtype = scale, change.dtype
        return torch.addcmul(x, change.to(x.dtype), kept.to(x.dtype), value=scale)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        (kept,) = ctx.saved_tensors
        return grad, (grad * kept).mul_(ctx.scale).to(ctx.dtype), None, None


def _kept(like: Tensor, share: float) -> tuple[Tensor, float]:
    """1 where a number stays and 0 where it is left out, and by what to scale those that stay."""
    seed = int(torch.randint(0, 1 << 62, ()))
    draws = np.random.SFC64(seed).random_raw(-(-like.numel() // 8))
    dropped = min(SIDES - 1, round(share * SIDES))
    bytes_ = torch.from_numpy(draws.view(np.uint8)[: like.numel()]).view(like.shape)
    return (bytes_ >= dropped).to(like.dtype), SIDES / (SIDES - dropped)
