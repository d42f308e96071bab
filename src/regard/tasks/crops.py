"""Crop mapping: what grows in a field, from how it looked over the year."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attend.watch import watch
from regard.models.crop_settings import CropModel
from regard.models.crops import CropReader, build_crop_reader
from regard.tasks.crop_settings import CropData
from regard.tasks.drawn import HELD_OUT, Endless, Some
from regard.tasks.seasons import Fields, made_up, nearest, read_fields
from regard.tasks.task import Loss
from regard.text.places import located

MADE = 4000  # made-up fields to learn from


@dataclass(frozen=True)
class Seen:
    """Fields as tensors."""

    series: Float[Tensor, "b t d"]
    crops: Int[Tensor, " b"]


class CropMapping(Endless):
    """Learn to tell crops apart; batches are drawn from the known fields."""

    drawn_by, looked_by = "seasons:mapped", "seasons:looks"
    examples = "fields"
    best_by, best_is_highest = "right", True

    def __init__(self, data: CropData, model: CropModel, smoothing: float, seed: int) -> None:
        super().__init__(data.rows, seed)
        self.data, self.model, self.smoothing = data, model, smoothing

    @cached_property
    def known(self) -> Fields:
        """All fields whose crop may be known."""
        if self.data.series is not None:
            return read_fields(located(self.data.series))
        return made_up(np.random.default_rng(0), MADE, self.data.crops, self.data.dates)

    @cached_property
    def divided(self) -> tuple[Fields, Fields]:
        """Fields to learn from, and those the best model is chosen by."""
        return self.known.divided()

    @cached_property
    def unseen(self) -> Fields:
        """Fields that nothing was chosen by."""
        if self.data.test_series is not None:
            return read_fields(located(self.data.test_series))
        if self.data.series is not None:
            return self.divided[1]
        rng = np.random.default_rng(HELD_OUT)
        return made_up(rng, self.data.held_out_rows, self.data.crops, self.data.dates)

    def build(self) -> CropReader:
        return build_crop_reader(self.model, self.known.series.shape[2], int(self.known.crops.max()) + 1)

    def about(self) -> str:
        where = "made up" if self.data.series is None else f"of {self.data.series.name}"
        count, dates, bands = self.divided[0].series.shape
        return f"{count:,} fields {where}, {dates} dates, {bands} bands, {int(self.known.crops.max()) + 1} crops"

    def load(self, which: Some) -> Seen:
        known = self.divided[0]
        chosen = self.dice(which).integers(0, len(known), self.rows)
        return self.seen(known.some(chosen[which.first : which.after]))

    def seen(self, fields: Fields) -> Seen:
        """Fields as a model sees them: every band with the mean and spread of those it learned from."""
        learned = self.divided[0].series
        mean, spread = learned.mean((0, 1)), learned.std((0, 1)) + 1e-6
        return Seen(torch.from_numpy((fields.series - mean) / spread), torch.from_numpy(fields.crops))

    def loss(self, model: nn.Module, batch: Seen, player: str) -> Loss:
        """Nats of surprise at the right crops, summed over fields."""
        scores = cast(CropReader, model)(batch.series)
        total = F.cross_entropy(scores, batch.crops, reduction="sum", label_smoothing=self.smoothing)
        return Loss(total, {"loss": float(total.detach())})

    def measure(self, model: nn.Module) -> dict[str, float]:
        return {"right": float((self.said(model, self.divided[1]) == self.divided[1].crops).mean())}

    def final(self, model: nn.Module) -> dict[str, dict[str, float]]:
        """Unseen fields: the share of right crops, beyond chance too (kappa), and that of the nearest known field."""
        said, right = self.said(model, self.unseen), self.unseen.crops
        near = nearest(self.known, self.unseen)
        figures = {"right": (said == right).mean(), "kappa": kappa(said, right), "nearest": (near == right).mean()}
        return {"test": {name: float(figure) for name, figure in figures.items()}}

    def said(self, model: nn.Module, fields: Fields) -> np.ndarray:
        """The crop that the model names for each field."""
        parts = self.seen(fields).series.split(500)
        return torch.cat([cast(CropReader, model)(part).argmax(1) for part in parts]).numpy()

    def looks(self, model: nn.Module, fields: Fields) -> Float[Tensor, "b h t t"]:
        """Who looked at which date, in the last layer."""
        with watch(model) as looks:
            model(self.seen(fields).series)
        return looks[-1].weights

    def samples(self, model: nn.Module) -> str:
        some = self.divided[1].some(np.arange(8))
        pairs = zip(some.crops + 1, self.said(model, some) + 1, strict=True)
        return "".join(f"crop {right}  > {said}\n" for right, said in pairs)


def kappa(said: np.ndarray, right: np.ndarray) -> float:
    """Agreement beyond chance: (observed - expected) / (1 - expected). Cohen 1960."""
    count = int(max(said.max(), right.max())) + 1
    chance = float(np.bincount(said, minlength=count) @ np.bincount(right, minlength=count)) / len(right) ** 2
    return (float((said == right).mean()) - chance) / (1 - chance) if chance < 1 else 1.0
