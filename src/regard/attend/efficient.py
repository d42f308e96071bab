"""Parts that make long memories cheap: feature maps, running sums, compression, and buckets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attend.memory import Memory, without_padding
from regard.attend.scope import Scope, Scoping, buckets, everything
from regard.attend.score import Features

CHUNK = 64  # steps read at once along a running sum


class EluPlusOne(Features):
    """elu(x) + 1. Katharopoulos et al. 2020, eq. 7."""

    def forward(self, x: Float[Tensor, "b h n d"]) -> Float[Tensor, "b h n f"]:
        return F.elu(x) + 1


class Favor(Features):
    """exp(ω·x - |x|²/2) / sqrt(m): unbiased for exp(q·k / sqrt(d)). Choromanski et al. 2021, lemma 1 (FAVOR+).

    The m random directions are orthogonal in blocks of d, which lowers the variance; they are drawn once, and
    again by `redraw`.
    """

    directions: Tensor

    def __init__(self, d_key: int, count: int, orthogonal: bool = True) -> None:
        super().__init__()
        self.orthogonal = orthogonal
        self.register_buffer("directions", torch.empty(count, d_key))
        self.redraw()

    @torch.no_grad()
    def redraw(self) -> None:
        """Draw new random directions, as is done now and then during training."""
        count, width = self.directions.shape
        drawn = torch.randn(count, width)
        if self.orthogonal:
            blocks = [torch.linalg.qr(torch.randn(width, width))[0] for _ in range(-(-count // width))]
            drawn = torch.cat(blocks)[:count] * drawn.norm(dim=-1, keepdim=True)
        self.directions.copy_(drawn)

    def forward(self, x: Float[Tensor, "b h n d"]) -> Float[Tensor, "b h n f"]:
        count, width = self.directions.shape
        x = x * width**-0.25
        exponent = x @ self.directions.to(x.dtype).T - x.square().sum(-1, keepdim=True) / 2
        return exponent.exp() * float(count**-0.5)


@dataclass(frozen=True)
class Recurrence:
    """Linear attention as a recurrent network: a state of fixed size. Katharopoulos et al. 2020, 3.4."""

    product: Float[Tensor, "b h f v"]
    total: Float[Tensor, "b h f 1"]

    @staticmethod
    def empty(keys: Float[Tensor, "b h k f"], values: Float[Tensor, "b h k v"]) -> Recurrence:
        """A state that has seen nothing, of the widths of these."""
        batch, heads, _, width = keys.shape
        return Recurrence(
            values.new_zeros(batch, heads, width, values.shape[-1]), keys.new_zeros(batch, heads, width, 1)
        )

    def then(self, keys: Float[Tensor, "b h k f"], values: Float[Tensor, "b h k v"]) -> Recurrence:
        """The state after seeing these keys, given as features, and values."""
        across = keys.transpose(-2, -1)
        return Recurrence(self.product + across @ values, self.total + across.sum(-1, keepdim=True))

    def pick(self, rows: Int[Tensor, " b2"]) -> Recurrence:
        """The rows a beam goes on with."""
        return Recurrence(self.product[rows], self.total[rows])

    def read(self, query: Float[Tensor, "b h q f"]) -> Float[Tensor, "b h q v"]:
        """What queries, given as features, read from all that was seen; zeros from nothing."""
        return _ratio(query @ self.product, query @ self.total)

    def read_along(
        self, query: Float[Tensor, "b h q f"], keys: Float[Tensor, "b h k f"], values: Float[Tensor, "b h k v"]
    ) -> Float[Tensor, "b h q v"]:
        """Queries that each see the keys up to their own place, a chunk of steps at a time."""
        state, contexts = self, []
        pieces = (x[:, :, : query.shape[2]].split(CHUNK, 2) for x in (query, keys, values))
        for asked, near, told in zip(*pieces, strict=True):
            within = (asked @ near.transpose(-2, -1)).tril()
            over = asked @ state.product + within @ told
            under = asked @ state.total + within.sum(-1, keepdim=True)
            contexts.append(_ratio(over, under))
            state = state.then(near, told)
        return torch.cat(contexts, 2)


def _ratio(over: Tensor, under: Tensor) -> Tensor:
    """Zeros where nothing was seen; dividing by 1 there keeps the gradient finite too."""
    return over / torch.where(under > 0, under, 1.0)


class Compression(nn.Module, ABC):
    """A memory made shorter. Each new key stands where the last token it is made of stood: no future leaks."""

    @abstractmethod
    def forward(self, memory: Memory) -> Memory:
        """The shorter memory."""


class Linformer(Compression):
    """`count` learned mixtures of up to `longest` keys and values. Wang et al. 2020, eq. 7.

    Every mixture contains the last token, so under a causal scope only the last query sees them.
    """

    def __init__(self, longest: int, count: int) -> None:
        super().__init__()
        self.keys = nn.Parameter(torch.randn(count, longest) * longest**-0.5)
        self.values = nn.Parameter(torch.randn(count, longest) * longest**-0.5)

    def forward(self, memory: Memory) -> Memory:
        longest, size = self.keys.shape[1], len(memory)
        if size > longest:
            raise ValueError(
                f"this Linformer was built for at most {longest} keys and got {size}; build it with longest={size}"
            )
        keys, values = _without_padding(memory)
        return Memory(self.keys[:, :size] @ keys, self.values[:, :size] @ values, start=memory.last, step=0)


class StridedPool(Compression):
    """The mean of every `stride` keys that may be seen, and of their values. Liu et al. 2018, after its 4.2.3."""

    def __init__(self, stride: int) -> None:
        super().__init__()
        self.stride = stride

    def forward(self, memory: Memory) -> Memory:
        keys, values = _without_padding(memory)
        visible = torch.ones(1, len(memory), dtype=torch.bool) if memory.visible is None else memory.visible
        missing, stride = -len(memory) % self.stride, self.stride
        shown = F.pad(visible.to(keys.device), (0, missing)).unflatten(-1, (-1, stride))  # b n s
        count = shown.sum(-1).clamp_min(1)[:, None, :, None]

        def mean(rows: Tensor) -> Tensor:
            grouped: Tensor = F.pad(rows, (0, 0, 0, missing)).unflatten(2, (-1, stride))
            return grouped.sum(3).div(count)

        some = None if memory.visible is None else shown.any(-1)
        return Memory(mean(keys), mean(values), start=memory.start + stride - 1, step=stride, visible=some)


def _without_padding(memory: Memory) -> tuple[Tensor, Tensor]:
    """Keys and values with zeros for padding; mixtures of them can honour no other scope."""
    if memory.scope is not everything:
        raise ValueError(
            f"a memory with scope '{memory.scope.name}' cannot be compressed: queries see different keys; "
            "compress memories with padding (lengths) or none"
        )
    return without_padding(memory.keys, memory.visible), without_padding(memory.values, memory.visible)


class Hashing(Scoping):
    """Keys whose random projections fall into the query's bucket, in any of several rounds. Kitaev et al. 2020, 2.3.

    The bucket is the largest of [xR; -xR], for an R of half as many columns as there are buckets.
    """

    directions: Tensor

    def __init__(self, d_key: int, count: int, rounds: int = 1) -> None:
        super().__init__()
        if count < 2 or count % 2:
            raise ValueError(f"Hashing wants an even number of buckets; got {count}: try {max(2, count + 1)}")
        self.register_buffer("directions", torch.randn(rounds, 1, 1, d_key, count // 2))

    def bucket(self, x: Float[Tensor, "b h n d"]) -> Int[Tensor, "r b h n"]:
        """The bucket of each vector in each round."""
        side = x @ self.directions.to(x.dtype)
        return torch.cat((side, -side), -1).argmax(-1)

    def forward(self, query: Float[Tensor, "b h q d"], memory: Memory, at: int) -> Scope:
        keys = memory.spread(query.shape[1]).keys
        return buckets(self.bucket(query), self.bucket(keys), at, memory.start, memory.step)


class Routing(Scoping):
    """Keys of the query's cluster, by the nearest of learned centres on the sphere. Roy et al. 2021, eq. 9.

    While training, each look moves the centres towards the queries and keys they own, as k-means does.
    """

    centres: Tensor

    def __init__(self, d_key: int, count: int, decay: float = 0.999) -> None:
        super().__init__()
        self.decay = decay
        self.register_buffer("centres", F.normalize(torch.randn(count, d_key), dim=-1))

    def bucket(self, x: Float[Tensor, "b h n d"]) -> Int[Tensor, "1 b h n"]:
        """The cluster of each vector."""
        return (F.normalize(x, dim=-1) @ self.centres.to(x.dtype).T).argmax(-1).unsqueeze(0)

    @torch.no_grad()
    def settle(self, x: Float[Tensor, "b h n d"]) -> None:
        """One step of k-means with a moving average."""
        unit = F.normalize(x, dim=-1).flatten(0, -2).to(self.centres.dtype)
        owner = F.one_hot(self.bucket(x).flatten(), self.centres.shape[0]).to(unit.dtype)
        mean = owner.T @ unit / owner.sum(0).clamp_min(1).unsqueeze(-1)
        moved = torch.where(owner.any(0).unsqueeze(-1), mean, self.centres)
        self.centres.copy_(F.normalize(self.decay * self.centres + (1 - self.decay) * moved, dim=-1))

    def forward(self, query: Float[Tensor, "b h q d"], memory: Memory, at: int) -> Scope:
        keys = memory.spread(query.shape[1]).keys
        found = buckets(self.bucket(query), self.bucket(keys), at, memory.start, memory.step)
        if self.training:
            self.settle(torch.cat((query, keys), 2))
        return found
