"""SNAIL: convolutions over time gather what happened, attention picks from it.

Mishra, Rohaninejad, Chen & Abbeel 2018. A learner that is given a whole experience, step by step, and answers at
every step: pairs of image and label, then an image; or what was tried and what it brought.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attend.mechanism import Attention
from regard.attend.scope import causal
from regard.attend.score import ScaledDot
from regard.models.convolution import TemporalConvolution
from regard.models.sequence_settings import SnailModel
from regard.models.settings import LstmModel
from regard.models.turing import PlainLstm


class AttentionBlock(nn.Module):
    """What a look at this and all earlier steps finds, put beside what was given. Figure 2c."""

    def __init__(self, d_input: int, d_key: int, d_value: int) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(d_input, d_key), nn.Linear(d_input, d_key)
        self.value = nn.Linear(d_input, d_value)
        self.attention = Attention(ScaledDot(), scope=causal)
        self.width = d_input + d_value
        with torch.no_grad():  # like finds like from the first step on; from two random maps that takes thousands
            self.query.weight.copy_(self.key.weight)
            self.query.bias.copy_(self.key.bias)

    def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t w"]:
        """All steps at once."""
        memory = self.attention.memory(self.key(x), self.value(x))
        return torch.cat((x, self.attention(self.query(x), memory)), -1)


class Snail(nn.Module):
    """An attention block, then convolutions over time and attention in turn, then a map to the answers."""

    def __init__(self, settings: SnailModel, d_input: int, d_output: int, steps: int) -> None:
        super().__init__()
        d_key, d_value = settings.key, settings.value
        blocks: list[AttentionBlock | TemporalConvolution] = [AttentionBlock(d_input, d_key, d_value)]
        for _ in range(settings.blocks):
            blocks.append(TemporalConvolution(blocks[-1].width, settings.width, steps))
            blocks.append(AttentionBlock(blocks[-1].width, d_key, d_value))
        self.blocks = nn.Sequential(*blocks)
        self.answer = nn.Linear(blocks[-1].width, d_output)

    def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t o"]:
        """The answers at every step, each from what came up to then."""
        return self.answer(self.blocks(x))  # type: ignore[no-any-return]


def build_learner(settings: SnailModel | LstmModel, d_input: int, d_output: int, steps: int) -> nn.Module:
    """The learner a recipe describes, for experiences of at most so many steps."""
    if isinstance(settings, LstmModel):
        return PlainLstm(d_input, settings.width, settings.layers, d_output)
    return Snail(settings, d_input, d_output, steps)
