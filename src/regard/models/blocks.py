"""What Transformers share: embeddings, positions, feed-forward networks, residuals with their norms."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attend.bias import sinusoid
from regard.attend.maps import Linear
from regard.models.dropout import Dropout, ResidualDropout
from regard.text.ids import PAD

Rows = Float[Tensor, "b n m"]


Waves = Callable[[Int[Tensor, " n"], int], Float[Tensor, "n m"]]


class Sinusoids(nn.Module):
    """Places as waves; no limit, nothing learned. Vaswani et al. 2017, 3.5. `waves` says in which order."""

    table: Tensor

    def __init__(self, width: int, waves: Waves = sinusoid) -> None:
        super().__init__()
        self.width, self.waves = width, waves
        self.register_buffer("table", torch.empty(0, width), persistent=False)

    def forward(self, count: int, at: int) -> Float[Tensor, "n m"]:
        """Places `at ... at + count`."""
        if len(self.table) < at + count:
            places = torch.arange(max(64, 2 * (at + count)), device=self.table.device)
            self.table = self.waves(places, self.width).to(torch.float32)
        return self.table[at : at + count]


class LearnedPlaces(nn.Module):
    """A learned vector per place, up to the longest."""

    def __init__(self, width: int, longest: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(longest, width) * width**-0.5)

    def forward(self, count: int, at: int) -> Float[Tensor, "n m"]:
        """Places `at ... at + count`."""
        if at + count > len(self.table):
            raise ValueError(
                f"this model has {len(self.table)} learned places and was given {at + count} tokens; "
                "split the text, or train with a larger model.longest or model.positions = 'sinusoid'"
            )
        return self.table[at : at + count]


class NoPlaces(nn.Module):
    """Nothing is said about places: the mechanisms know them, or nobody does."""

    def forward(self, count: int, at: int) -> float:
        """Nothing to add."""
        return 0.0


class Words(nn.Module):
    """Embeddings times √width, unless another scale is given, with places and dropout. Vaswani et al. 2017, 3.4."""

    def __init__(self, table: nn.Embedding, places: nn.Module, dropout: float, scale: float | None = None) -> None:
        super().__init__()
        self.table, self.places, self.dropout = table, places, Dropout(dropout)
        self.scale = math.sqrt(table.embedding_dim) if scale is None else scale

    def forward(self, ids: Int[Tensor, "b n"], at: int = 0) -> Rows:
        """The rows of these words, the first at place `at`."""
        rows = self.table(ids) * self.scale
        return self.dropout(rows + self.places(ids.shape[1], at))  # type: ignore[no-any-return]


class FeedForward(nn.Module):
    """The same two maps for every token, with a bend between. Vaswani et al. 2017, 3.3."""

    def __init__(self, width: int, inner: int, bend: Callable[[Tensor], Tensor], dropout: float = 0.0) -> None:
        super().__init__()
        self.up, self.down = linear(width, inner), linear(inner, width)
        self.bend, self.dropout = bend, Dropout(dropout)

    def forward(self, x: Rows) -> Rows:
        """Each token by itself."""
        return self.down(self.dropout(self.bend(self.up(x))))  # type: ignore[no-any-return]


class GatedFeedForward(nn.Module):
    """One half decides how much of the other passes. Shazeer 2020, GLU Variants Improve Transformer."""

    def __init__(self, width: int, inner: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.up, self.down = linear(width, 2 * inner), linear(inner, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Rows) -> Rows:
        """Each token by itself."""
        gate, value = self.up(x).chunk(2, -1)
        return self.down(self.dropout(F.silu(gate) * value))  # type: ignore[no-any-return]


class PreNorm(nn.Module):
    """x + f(norm(x)): gradients reach every layer alike. Xiong et al. 2020."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.norm, self.add = nn.LayerNorm(width), ResidualDropout(dropout)

    def forward(self, x: Rows, change: Callable[[Rows], Rows]) -> Rows:
        """`x` with this change."""
        return self.add(x, change(for_products(self.norm(x))))  # type: ignore[no-any-return]


class PostNorm(nn.Module):
    """norm(x + f(x)), as in the paper; needs a warm-up."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.norm, self.add = nn.LayerNorm(width), ResidualDropout(dropout)

    def forward(self, x: Rows, change: Callable[[Rows], Rows]) -> Rows:
        """`x` with this change."""
        return self.norm(self.add(x, change(for_products(x))))  # type: ignore[no-any-return]


def for_products(x: Tensor) -> Tensor:
    """`x` in the precision of products: under autocast converted once, and not by each map that it goes through."""
    kind = x.device.type
    return x.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else x


def linear(d_in: int, d_out: int) -> nn.Linear:
    """A map with a bias of 0 at first and Xavier's weights."""
    layer = Linear(d_in, d_out)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def embedding(count: int, width: int) -> nn.Embedding:
    """A table of words in which padding is zeros, and learns nothing from being read (from being tied it may)."""
    table = nn.Embedding(count, width, padding_idx=PAD)
    nn.init.normal_(table.weight, std=width**-0.5)
    with torch.no_grad():
        table.weight[PAD].zero_()
    return table


def output(table: nn.Embedding | None, count: int, width: int) -> nn.Linear:
    """From a state to a score per word; with a table, its words are the weights."""
    layer = Linear(width, count, bias=False)
    if table is None:
        nn.init.normal_(layer.weight, std=width**-0.5)
    else:
        layer.weight = table.weight
    return layer
