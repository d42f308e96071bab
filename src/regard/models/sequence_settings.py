"""The `[model]` sections of systems that read step by step: LSTMN, dilated convolutions, SNAIL. No torch."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from regard.models.settings import DEEPEST, WIDEST
from regard.settings import Section


class LstmnModel(Section):
    """Cheng, Dong & Lapata 2016: an LSTM that looks back at all its states instead of keeping the last."""

    kind: Literal["lstmn"] = "lstmn"
    width: int = Field(128, ge=1, le=WIDEST)
    """Units of each layer, and of word embeddings."""
    hidden: int = Field(64, ge=1, le=WIDEST)
    """Width inside the attention's score."""
    reach: int = Field(0, ge=0, le=WIDEST)
    """Distances with a learned number each in the score, the nearest favoured at first; 0 = none, as published."""
    layers: int = Field(1, ge=1, le=DEEPEST)
    """Layers."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Share of embeddings and last states left out while training."""


class PlainLstmModel(Section):
    """The LSTM beside it."""

    kind: Literal["lstm"] = "lstm"
    width: int = Field(128, ge=1, le=WIDEST)
    """Units of each layer, and of word embeddings."""
    layers: int = Field(1, ge=1, le=DEEPEST)
    """Layers."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Share of embeddings and last states left out while training."""


class DilatedModel(Section):
    """Van den Oord et al. 2016, WaveNet: gated causal convolutions with doubling dilations."""

    kind: Literal["dilated"] = "dilated"
    width: int = Field(128, ge=1, le=WIDEST)
    """Channels, and width of word embeddings."""
    kernel: int = Field(2, ge=2, le=64)
    """Steps that one convolution sees."""
    dilations: tuple[int, ...] = Field((1, 2, 4, 8, 16, 32), min_length=1, max_length=64)
    """How far apart these are, layer by layer; the last 1 + (kernel - 1) × their sum words are seen."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Share of embeddings and last states left out while training."""


ReaderModel = LstmnModel | PlainLstmModel | DilatedModel


class SnailModel(Section):
    """Mishra et al. 2018: convolutions over time and attention in turn."""

    kind: Literal["snail"] = "snail"
    width: int = Field(32, ge=1, le=WIDEST)
    """Filters of each dense block; the paper has 128 for images and 32 for bandits."""
    key: int = Field(32, ge=1, le=WIDEST)
    """Width of keys in every attention block ..."""
    value: int = Field(32, ge=1, le=WIDEST)
    """... and of values."""
    blocks: int = Field(2, ge=0, le=DEEPEST)
    """Blocks of convolutions, each with an attention block behind it; one more stands before the first."""


class ImageModel(Section):
    """The network that sees: convolutions, each halving the image."""

    convolutions: int = Field(3, ge=1, le=16)
    """How many."""
    filters: int = Field(32, ge=1, le=WIDEST)
    """Channels of each; the paper has 64."""
    groups: int = Field(8, ge=1, le=WIDEST)
    """Groups of channels that are normalised together; a divisor of the filters."""
    width: int = Field(64, ge=1, le=WIDEST)
    """Numbers that an image becomes."""
