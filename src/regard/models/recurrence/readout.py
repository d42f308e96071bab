"""The layer between a decoder's states and its words."""

from __future__ import annotations

from abc import ABC, abstractmethod

from jaxtyping import Float
from torch import Tensor, nn


class Readout(nn.Module, ABC):
    """The layer between the states and the words; `width` is what it gives."""

    width: int

    @abstractmethod
    def forward(self, x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b m"]:
        """What the words are chosen by."""


class Plain(Readout):
    """The states themselves."""

    def __init__(self, d_in: int) -> None:
        super().__init__()
        self.width = d_in

    def forward(self, x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b m"]:
        return x


class Tanh(Readout):
    """tanh(W x): Luong's attentional state h~. Luong, Pham & Manning 2015, eq. 5."""

    def __init__(self, d_in: int, width: int) -> None:
        super().__init__()
        self.layer, self.width = nn.Linear(d_in, width), width

    def forward(self, x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b m"]:
        return self.layer(x).tanh()  # type: ignore[no-any-return]


class Maxout(Readout):
    """The larger of each pair of W x. Goodfellow et al. 2013; Bahdanau, Cho & Bengio 2015, A.2.2."""

    def __init__(self, d_in: int, width: int) -> None:
        super().__init__()
        self.layer, self.width = nn.Linear(d_in, 2 * width), width

    def forward(self, x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b m"]:
        return self.layer(x).unflatten(-1, (self.width, 2)).amax(-1)  # type: ignore[no-any-return]
