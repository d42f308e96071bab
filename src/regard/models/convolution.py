"""Dilated causal convolutions: a stack that sees twice as far back with every layer.

Van den Oord et al. 2016, WaveNet. With kernel k and dilations d_i an output depends on exactly the last
1 + (k - 1) Σ d_i inputs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

Rows = Float[Tensor, "b t _"]


def receptive_field(kernel: int, dilations: Sequence[int]) -> int:
    """How many of the last inputs an output of such a stack depends on."""
    return 1 + (kernel - 1) * sum(dilations)


def dilations_for(steps: int) -> list[int]:
    """1, 2, 4, ... until a stack with kernel 2 sees all of so many steps.

    The printed loop of SNAIL begins at 2, and so never sees the step just before; this one begins at 1.
    """
    return [2**layer for layer in range(max(1, math.ceil(math.log2(max(2, steps)))))]


class CausalConvolution(nn.Module):
    """A map of this step and of `kernel` - 1 earlier ones, `dilation` steps apart; before the first are zeros."""

    def __init__(self, d_input: int, d_output: int, kernel: int = 2, dilation: int = 1) -> None:
        super().__init__()
        self.map = nn.Conv1d(d_input, d_output, kernel, dilation=dilation)
        self.before = (kernel - 1) * dilation

    def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t o"]:
        """All steps at once."""
        return self.map(F.pad(x.transpose(1, 2), (self.before, 0))).transpose(1, 2)  # type: ignore[no-any-return]


class Gated(nn.Module):
    """tanh(conv) · sigmoid(conv): one half says what, the other how much of it. WaveNet, eq. 2."""

    def __init__(self, d_input: int, filters: int, kernel: int, dilation: int) -> None:
        super().__init__()
        self.both = CausalConvolution(d_input, 2 * filters, kernel, dilation)

    def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t f"]:
        """All steps at once."""
        what, much = self.both(x).chunk(2, -1)
        return what.tanh() * much.sigmoid()  # type: ignore[no-any-return]


class Dilated(nn.Module):
    """Gated convolutions whose dilations double; each adds to what it was given, and all are shown together."""

    def __init__(self, width: int, kernel: int, dilations: Sequence[int]) -> None:
        super().__init__()
        self.field = receptive_field(kernel, dilations)
        self.layers = nn.ModuleList(Gated(width, width, kernel, dilation) for dilation in dilations)
        self.back = nn.ModuleList(nn.Linear(width, width) for _ in dilations[1:])  # of the last nothing goes on
        self.show = nn.ModuleList(nn.Linear(width, width) for _ in dilations)

    def forward(self, x: Float[Tensor, "b t m"]) -> Float[Tensor, "b t m"]:
        """What is shown at each step."""
        shown = torch.zeros_like(x)
        for number, (layer, show) in enumerate(zip(self.layers, self.show, strict=True)):
            found = layer(x)
            shown = shown + show(found)
            if number < len(self.back):
                x = x + self.back[number](found)
        return shown.relu()


class DenseBlock(nn.Module):
    """A gated convolution put beside what it was given, so that nothing is lost. Mishra et al. 2018, figure 2a."""

    def __init__(self, d_input: int, filters: int, dilation: int) -> None:
        super().__init__()
        self.gated = Gated(d_input, filters, 2, dilation)
        self.width = d_input + filters

    def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t w"]:
        """All steps at once."""
        return torch.cat((x, self.gated(x)), -1)


class TemporalConvolution(nn.Module):
    """Dense blocks with doubling dilations, enough to see all of `steps` steps: SNAIL's TC block. Figure 2b."""

    def __init__(self, d_input: int, filters: int, steps: int) -> None:
        super().__init__()
        self.dilations = dilations_for(steps)
        self.blocks = nn.ModuleList(
            DenseBlock(d_input + layer * filters, filters, dilation) for layer, dilation in enumerate(self.dilations)
        )
        self.width = d_input + len(self.dilations) * filters

    def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t w"]:
        """All steps at once."""
        for block in self.blocks:
            x = block(x)
        return x
