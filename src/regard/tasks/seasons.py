"""Fields over a year: from a file, or made up; and what the most similar known field says. NumPy only."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Fields:
    """How fields looked, date by date, and what grew there, counted from 0."""

    series: np.ndarray  # n t d
    crops: np.ndarray  # n

    def __len__(self) -> int:
        return len(self.series)

    def some(self, which: np.ndarray) -> Fields:
        """These of them."""
        return Fields(self.series[which], self.crops[which])

    def divided(self) -> tuple[Fields, Fields]:
        """Nine tenths to learn from, and every tenth to choose the best model by."""
        tenth = np.arange(len(self)) % 10 == 0
        return self.some(~tenth), self.some(tenth)


def read_fields(file: Path) -> Fields:
    """Fields of a file in the form of the UCR archive's."""
    try:
        with np.load(file, allow_pickle=False) as stored:
            series, crops = stored["x"], stored["y"]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        raise ValueError(
            f"{file} is not an .npz with `x` and `y`; give one with series and the crop of each"
        ) from None
    if series.ndim not in (2, 3) or len(series) != crops.size or len(series) == 0:
        raise ValueError(
            f"{file}: `x` has the shape {series.shape} and `y` {crops.shape}; give fields × dates (× bands), and a "
            "crop for each field"
        )
    if not np.isfinite(series).all():
        raise ValueError(f"{file}: a number of `x` is not finite; fill what is missing first")
    return Fields(series.reshape(*series.shape[:2], -1).astype(np.float32), crops.reshape(-1).astype(np.int64) - 1)


def made_up(rng: np.random.Generator, count: int, crops: int, dates: int) -> Fields:
    """Crops that turn green and ripen each at its own time; fields are early or late, and clouds hide some dates.

    The two slopes of a year are logistic curves, as in Beck et al. 2006.
    """
    kinds = rng.integers(0, crops, count)
    share = (kinds + 0.5) / crops
    moved = rng.normal(0, 0.02, count)
    start = (0.15 + 0.4 * share + moved)[:, None]
    length = (0.2 + 0.25 * (kinds % 3) / 2)[:, None]
    time = np.arange(dates) / (dates - 1)
    green = _logistic(time, start) - _logistic(time, start + length)
    seen = 0.15 + 0.6 * green + rng.normal(0, 0.05, (count, dates))
    clouds = rng.random((count, dates)) < 0.1
    return Fields(np.where(clouds, -0.1, seen)[..., None].astype(np.float32), kinds)


def _logistic(time: np.ndarray, middle: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-(time - middle) / 0.03))  # type: ignore[no-any-return]


def nearest(known: Fields, asked: Fields) -> np.ndarray:
    """The crop of the known field that is nearest, date by date: what attention has to beat."""
    flat = known.series.reshape(len(known), -1)
    squares = (flat**2).sum(1)
    found = [
        np.argmin(squares - 2 * some.reshape(len(some), -1) @ flat.T, 1)
        for some in np.array_split(asked.series, -(-len(asked) // 500))
    ]
    return known.crops[np.concatenate(found)]  # type: ignore[no-any-return]
