"""What is added to scores by position. A bias of minus infinity hides a key, as a scope would."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attend.memory import Memory
from regard.attend.score import Queries

Added = Float[Tensor, "#b #h q k"]


class Bias(nn.Module, ABC):
    """Something to add to the scores of queries at positions `at ...` over a memory."""

    @abstractmethod
    def forward(self, query: Queries, memory: Memory, at: int) -> Added:
        """What is added, in an axis of 1 where it is the same for all."""


class Alibi(Bias):
    """-slope·|q - k|, a slope per head, nothing learned. Press, Smith & Lewis 2022, fig. 3."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.slopes = alibi_slopes(heads)

    def forward(self, query: Queries, memory: Memory, at: int) -> Added:
        distance = ahead(query, memory, at).abs()
        slopes = torch.tensor(self.slopes, device=query.device).view(-1, 1, 1)
        return -(slopes * distance).unsqueeze(0).to(query.dtype)


class SelfLast(Bias):
    """A query looks at its own place only where there is nothing else. Kitaev et al. 2020, 2.2."""

    def forward(self, query: Queries, memory: Memory, at: int) -> Added:
        own = ahead(query, memory, at) == 0
        return (own * -1e5).to(query.dtype)[None, None]


class Relative(Bias):
    """A learned number per head and distance, beyond `reach` that of `reach`. After Raffel et al. 2020."""

    def __init__(self, heads: int, reach: int) -> None:
        super().__init__()
        self.reach = reach
        self.table = nn.Parameter(torch.zeros(heads, 2 * reach + 1))

    def forward(self, query: Queries, memory: Memory, at: int) -> Added:
        place = ahead(query, memory, at).clamp(-self.reach, self.reach) + self.reach
        return self.table[:, place].unsqueeze(0)


class RelativeKeys(Bias):
    """q·r / sqrt(d), a learned vector r per distance up to `reach`. Shaw, Uszkoreit & Vaswani 2018, eq. 4."""

    def __init__(self, d_key: int, reach: int) -> None:
        super().__init__()
        self.reach = reach
        self.table = nn.Parameter(torch.randn(2 * reach + 1, d_key) * d_key**-0.5)

    def forward(self, query: Queries, memory: Memory, at: int) -> Added:
        place = ahead(query, memory, at).clamp(-self.reach, self.reach) + self.reach
        by_distance = query @ self.table.T * query.shape[-1] ** -0.5  # b h q r
        return torch.gather(by_distance, -1, place.expand(*query.shape[:2], -1, -1))


class TransformerXL(Bias):
    """The three terms beside q·k: q·W r + u·k + v·W r, all over sqrt(d). Dai et al. 2019, eq. 5.

    `r` is the sinusoid of the distance q - k, so the same numbers serve every segment: an older segment is
    memory at negative positions.
    """

    def __init__(self, heads: int, d_key: int, d_model: int) -> None:
        super().__init__()
        self.u = nn.Parameter(torch.zeros(heads, 1, d_key))
        self.v = nn.Parameter(torch.zeros(heads, 1, d_key))
        self.position = nn.Linear(d_model, heads * d_key, bias=False)

    def forward(self, query: Queries, memory: Memory, at: int) -> Added:
        heads, width = self.u.shape[0], self.u.shape[2]
        behind = -ahead(query, memory, at)  # q k
        nearest, farthest = at - memory.last, at + query.shape[2] - 1 - memory.start
        distances = torch.arange(nearest, farthest + 1, device=query.device)
        angles = turns(distances, self.position.in_features)
        r = self.position(torch.cat((angles.sin(), angles.cos()), -1).to(query.dtype))
        r = r.view(-1, heads, width).permute(1, 2, 0)  # h d distances
        place = (behind - nearest).expand(*query.shape[:2], -1, -1)
        by_distance = torch.gather((query + self.v) @ r, -1, place)
        by_content = self.u @ memory.keys.transpose(-2, -1)  # b h 1 k
        added: Tensor = (by_distance + by_content) * width**-0.5
        return added


class AdaptiveSpan(Bias):
    """The log of a soft mask that falls from 1 to 0 at a learned distance. Sukhbaatar et al. 2019, eq. 4-5.

    clamp((ramp + z - distance) / ramp, 0, 1) with a span z in [0, longest] per head: under softmax it multiplies
    the weights before they are normalised. `cost` belongs in the loss, so that spans stay short.
    """

    def __init__(self, heads: int, longest: int, ramp: int = 32, start: float = 0.5) -> None:
        super().__init__()
        self.longest, self.ramp = longest, ramp
        self.share = nn.Parameter(torch.full((heads, 1, 1), start))

    @property
    def spans(self) -> Float[Tensor, "h 1 1"]:
        """The learned span of each head, in positions."""
        return self.share.clamp(0, 1) * self.longest

    def cost(self) -> Float[Tensor, ""]:
        """The mean span, to be weighted and added to the loss."""
        return self.spans.mean()

    def forward(self, query: Queries, memory: Memory, at: int) -> Added:
        distance = ahead(query, memory, at).abs()
        soft = ((self.ramp + self.spans - distance) / self.ramp).clamp_max(1.0)
        inside = soft > 0
        # log of 1 where the mask is 0: its gradient must be finite even though minus infinity replaces it
        return torch.where(inside, torch.where(inside, soft, 1.0).log(), -math.inf).unsqueeze(0)


def ahead(query: Queries, memory: Memory, at: int) -> Int[Tensor, "q k"]:
    """How far each key is ahead of each query; negative behind."""
    rows = torch.arange(at, at + query.shape[2], device=query.device)
    return memory.positions - rows.unsqueeze(-1)


def alibi_slopes(heads: int) -> list[float]:
    """2^(-8/heads), its square, ...; between powers of two, every other slope of the next one is added."""
    whole = 2 ** math.floor(math.log2(heads))
    slopes = [2.0 ** (-8.0 * (i + 1) / whole) for i in range(whole)]
    between = [2.0 ** (-4.0 * (i + 1) / whole) for i in range(0, 2 * whole, 2)]
    return (slopes + between)[:heads]


def sinusoid(positions: Int[Tensor, " n"], d_model: int) -> Float[Tensor, "n d"]:
    """sin and cos of p / 10000^(2i/d), interleaved, i counting pairs. Vaswani et al. 2017, 3.5."""
    angles = turns(positions, d_model)
    return torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)[:, :d_model]


def turns(positions: Int[Tensor, " n"], width: int, base: float = 10000.0) -> Float[Tensor, "n i"]:
    """The angle p / base^(2i/width) of each position and pair, as exact as the device allows."""
    exact = torch.float32 if positions.device.type == "mps" else torch.float64
    steps = torch.arange(0, width, 2, device=positions.device, dtype=exact) / width
    return positions.unsqueeze(-1) * base**-steps
