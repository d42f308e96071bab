"""The `[model]` section of a recipe that labels. No torch here, so that `--help` answers at once."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from regard.models.settings import DEEPEST, WIDEST
from regard.settings import Section


class Attentive(Section):
    """What all models of attention share here."""

    width: int = Field(64, ge=1, le=WIDEST)
    """Numbers per item (d_model)."""
    heads: int = Field(4, ge=1, le=WIDEST)
    """Heads of each attention."""
    feedforward: int = Field(128, ge=1, le=WIDEST)
    """Width inside the transition."""
    transition: Literal["feedforward", "convolution"] = "feedforward"
    """What follows attention: each item by itself, or with its neighbours (separable convolution)."""
    attention: str = "vaswani"
    """A mechanism of the catalogue, or file.py:function of your own."""
    reach: int = Field(16, ge=1, le=WIDEST)
    """How far mechanisms that know distances tell them apart."""
    norm: Literal["pre", "post"] = "post"
    """Where layer normalisation stands: before each sub-layer, or after its residual."""
    places: Literal["sinusoid", "none"] = "sinusoid"
    """How an item knows its place; none for a set, or where the mechanism knows distances."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Share left out while training."""


class LayersModel(Attentive):
    """The encoder of a Transformer: layers with weights of their own."""

    kind: Literal["layers"] = "layers"
    layers: int = Field(2, ge=1, le=DEEPEST)
    """How many."""


class UniversalModel(Attentive):
    """The Universal Transformer (Dehghani et al. 2019): one layer again and again."""

    kind: Literal["universal"] = "universal"
    steps: int = Field(6, ge=0, le=DEEPEST)
    """How often; 0: as often as there are items."""
    times: bool = True
    """Tell each item which step it is."""


class PonderingModel(Attentive):
    """The Universal Transformer with adaptive computation time (Graves 2016): each item until it knows enough."""

    kind: Literal["pondering"] = "pondering"
    most: int = Field(8, ge=1, le=DEEPEST)
    """The most steps."""
    times: bool = True
    """Tell each item which step it is."""
    price: float = Field(0.01, ge=0)
    """What a step of thought costs (τ)."""
    slack: float = Field(0.01, gt=0, lt=1)
    """How near 1 the chances of stopping come before it stops (ε)."""
    eager: float = 1.0
    """The bias of stopping that it starts with."""


class CellModel(Section):
    """A recurrent cell with adaptive computation time (Graves 2016): several steps for one item."""

    kind: Literal["cell"] = "cell"
    cell: Literal["lstm", "gru", "rnn"] = "rnn"
    """The recurrent cell."""
    width: int = Field(128, ge=1, le=WIDEST)
    """Units."""
    most: int = Field(20, ge=1, le=DEEPEST)
    """The most steps for an item."""
    price: float = Field(0.001, ge=0)
    """What a step of thought costs (τ)."""
    slack: float = Field(0.01, gt=0, lt=1)
    """How near 1 the chances of stopping come before it stops (ε)."""
    eager: float = 1.0
    """The bias of stopping that it starts with."""


LabellerModel = LayersModel | UniversalModel | PonderingModel | CellModel
