"""The `[data]` section of crop mapping."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from regard.settings import Data


class CropData(Data):
    """Series of satellite images, a field each; without a file, years of made-up crops."""

    trained_on: ClassVar[frozenset[str]] = frozenset({"series"})
    held_out: ClassVar[frozenset[str]] = frozenset({"test_series"})

    series: Path | None = None
    """Fields to learn from: .npz with `x`, fields × dates (× bands), and `y`, the crop of each, from 1 on."""
    test_series: Path | None = None
    """Fields measured once, at the end."""
    crops: int = Field(8, ge=2, le=1000)
    """Generated: kinds of crops ..."""
    dates: int = Field(46, ge=8, le=1000)
    """... seen at so many dates of a year."""
    rows: int = Field(64, ge=1, le=100_000)
    """Fields in a batch."""
    held_out_rows: int = Field(2000, ge=1, le=1_000_000)
    """Generated fields that are measured at the end."""
