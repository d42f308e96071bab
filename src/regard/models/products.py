"""Maps laid out for the search: products of few rows by the same weights again and again.

What a row becomes must not depend on how many there are (see `regard.search.steady`), and little else is done in a
step than to read all weights once. Three forms are known to serve: weights turned round, in slices; where they are
wide, weights packed by Intel's library; and on AMD's processors weights in oneDNN's blocks, for which a step of 4 to
160 rows of a wide model needs 0.6 to 0.85 of the time of either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Protocol

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attend.maps import by_onednn

SLICE = 512  # terms of one sum; a longer one is split by the library in ways that depend on the number of rows
LINE = 16  # float32 numbers of a line of a processor's cache
WIDE = 256  # a map from so many numbers on is packed
PACKED_FOR = 256  # rows that the library is told to pack for; it then takes one way for any number of them


class Map(Protocol):
    """x W + b of several maps at once."""

    shape: tuple[int, int]
    """Outputs, inputs."""

    def __call__(self, x: Float[Tensor, "r i"]) -> Float[Tensor, "r o"]:
        """The product."""

    def onto(self, x: Float[Tensor, "r o"], y: Float[Tensor, "r i"]) -> None:
        """The product of y, added to x in its place."""


def mapping(width: int) -> Callable[..., Map]:
    """The form of map for a model this wide."""
    if width < WIDE:
        return Turned
    return Blocked if by_onednn() else Packed if packs() else Turned


class Turned:
    """W the other way round, inputs down and outputs across; sums of no more than a slice."""

    def __init__(self, *layers: nn.Linear) -> None:
        weight, self.bias = _together(layers)
        self.shape = (weight.shape[0], weight.shape[1])
        self.parts = [part.t().contiguous() for part in weight.split(SLICE, 1)]

    def __call__(self, x: Float[Tensor, "r i"]) -> Float[Tensor, "r o"]:
        first, *others = self._sliced(x)
        found = first.mm(self.parts[0]) if self.bias is None else torch.addmm(self.bias, first, self.parts[0])
        for some, part in zip(others, self.parts[1:], strict=True):
            found.addmm_(some, part)
        return found

    def onto(self, x: Float[Tensor, "r o"], y: Float[Tensor, "r i"]) -> None:
        if self.bias is not None:
            x += self.bias
        for part, some in zip(self.parts, self._sliced(y), strict=True):
            x.addmm_(some, part)

    def _sliced(self, x: Float[Tensor, "r i"]) -> tuple[Tensor, ...]:
        return (x,) if len(self.parts) == 1 else x.split(SLICE, 1)


class Packed:
    """W as Intel's library packs it, once, so that it need not before each product."""

    def __init__(self, *layers: nn.Linear) -> None:
        weight, self.bias = _together(layers)
        self.shape = (weight.shape[0], weight.shape[1])
        self.weight = torch.ops.mkl._mkl_reorder_linear_weight(weight.contiguous(), PACKED_FOR)
        self.like = torch.zeros(1).expand(self.shape)  # is only asked for its shape

    def __call__(self, x: Float[Tensor, "r i"]) -> Float[Tensor, "r o"]:
        found: Tensor = torch.ops.mkl._mkl_linear.default(x, self.weight, self.like, self.bias, len(x))
        return found

    def onto(self, x: Float[Tensor, "r o"], y: Float[Tensor, "r i"]) -> None:
        x += self(y)


class Blocked:
    """W in blocks, as oneDNN has it."""

    def __init__(self, *layers: nn.Linear) -> None:
        weight, self.bias = _together(layers)
        self.shape = (weight.shape[0], weight.shape[1])
        self.weight = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), PACKED_FOR)

    def __call__(self, x: Float[Tensor, "r i"]) -> Float[Tensor, "r o"]:
        found: Tensor = torch.ops.mkldnn._linear_pointwise.default(x, self.weight, self.bias, "none", [], "")
        return found

    def onto(self, x: Float[Tensor, "r o"], y: Float[Tensor, "r i"]) -> None:
        x += self(y)


@cache
def packs() -> bool:
    """Whether there is Intel's library, and what it packs gives the right products of any number of rows."""
    random = torch.Generator().manual_seed(1)
    layer = nn.Linear(80, 96)
    given = torch.randn(2 * PACKED_FOR, 80, generator=random)
    try:
        with torch.no_grad():
            packed, right = Packed(layer), F.linear(given, layer.weight, layer.bias)
            counts = (1, 2, 7, 16, 100, PACKED_FOR, len(given))
            return all(torch.allclose(packed(given[:count]), right[:count], atol=1e-5) for count in counts)
    except (AttributeError, RuntimeError, NotImplementedError):
        return False


def in_one_place(maps: Sequence[Map]) -> None:
    """All turned weights in one array of numpy's, which asks for large pages."""
    turned = [one for one in maps if isinstance(one, Turned)]
    sizes = [-(-part.numel() // LINE) * LINE for one in turned for part in one.parts]
    table = torch.from_numpy(np.empty(sum(sizes) + LINE, np.float32))
    at = -table.data_ptr() % (4 * LINE) // 4
    for one in turned:
        for number, part in enumerate(one.parts):
            one.parts[number] = table[at : at + part.numel()].view_as(part).copy_(part)
            at += sizes.pop(0)


def _together(layers: Sequence[nn.Linear]) -> tuple[Float[Tensor, "o i"], Float[Tensor, " o"] | None]:
    """One weight of all, and one bias, if any has one."""
    weight = torch.cat([layer.weight.detach() for layer in layers])
    if all(layer.bias is None for layer in layers):
        return weight, None
    none = [layer.weight.new_zeros(layer.out_features) for layer in layers]
    biases = [n if one.bias is None else one.bias.detach() for one, n in zip(layers, none, strict=True)]
    return weight, torch.cat(biases)
