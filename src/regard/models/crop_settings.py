"""The `[model]` section of crop mapping."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from regard.models.settings import DEEPEST, WIDEST
from regard.settings import Section


class CropModel(Section):
    """Rußwurm & Körner 2020: every date looks at all others, and the strongest answers are kept."""

    kind: Literal["crops"] = "crops"
    width: int = Field(64, ge=2, le=WIDEST)
    """Numbers per date (d_model)."""
    heads: int = Field(4, ge=1, le=WIDEST)
    """Heads of each attention."""
    layers: int = Field(2, ge=1, le=DEEPEST)
    """Layers."""
    feedforward: int = Field(128, ge=1, le=WIDEST)
    """Width inside the feed-forward network."""
    attention: str = "vaswani"
    """A mechanism of the catalogue, or file.py:function of your own."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Share of what sub-layers add that is left out while training."""
