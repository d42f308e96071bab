"""A task is what a model is trained for: data, model, loss, measure, and what to show."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor, nn


@dataclass(frozen=True)
class Loss:
    """A sum with its gradient, and figures worth logging, summed over the same units."""

    total: Tensor
    figures: Mapping[str, float] = field(default_factory=dict)


class Task(ABC):
    """What the loop trains. A batch is named by something small (`Which`), so a cursor is two numbers.

    The same seed and epoch always give the same batches. `units` is what the loss is summed over (target tokens,
    pictures, points): it is divided by once, over all batches and processes of an update.
    """

    players: Sequence[str] = ("model",)
    """Parts that are trained in turn, each with its own optimiser; a GAN has two."""
    best_by: str = "loss"
    """The measure by which the best model is chosen."""
    best_is_highest: bool = False
    drawn_by: str = ""
    """What to show: the function of `regard.show` that draws what a model does on unseen data, `module:name`."""
    looked_by: str = ""
    """The function of `regard.show` that gives what it looked at on unseen data as traces, for a page."""

    @abstractmethod
    def prepare(self, folder: Path) -> None:
        """Make what training needs, once; files go into the folder, and are there or not there."""

    @abstractmethod
    def build(self) -> nn.Module:
        """A fresh model, from torch's current seed."""

    @abstractmethod
    def batches(self, epoch: int) -> Sequence[Any]:
        """What to train on in this epoch, in order."""

    @abstractmethod
    def load(self, which: Any) -> Any:
        """The tensors of one batch."""

    @abstractmethod
    def units(self, which: Any) -> int:
        """What its loss is summed over."""

    @abstractmethod
    def loss(self, model: nn.Module, batch: Any, player: str) -> Loss:
        """The loss of one player, summed over units."""

    @abstractmethod
    def split(self, which: Any, parts: int = 2) -> Sequence[Any]:
        """So many smaller batches, or fewer where it cannot be split so far; none is empty, all together are it."""

    @abstractmethod
    def where(self, which: Any) -> str:
        """Where a batch came from, for people: file and lines."""

    @abstractmethod
    def measure(self, model: nn.Module) -> dict[str, float]:
        """How good the model is on held-out data."""

    def parameters(self, model: nn.Module, player: str) -> list[nn.Parameter]:
        """What this player may change."""
        return list(model.parameters())

    def about(self) -> str:
        """What there is to learn from, in a few words: "29,000 pairs, 8,000 pieces"."""
        return "made as it is needed"

    def files(self) -> list[str]:
        """What belongs to the model besides weights and recipe, as names in the run folder."""
        return []

    def blocks(self, model: nn.Module) -> Sequence[nn.Module]:
        """Parts of a model that are only ever called as a whole: ranks that share it gather one after the other."""
        return []

    def samples(self, model: nn.Module) -> str:
        """A few answers beside the truth, to read."""
        return ""

    def final(self, model: nn.Module) -> dict[str, dict[str, float]]:
        """What is measured once, at the end, on each set that nothing was chosen by."""
        return {}
