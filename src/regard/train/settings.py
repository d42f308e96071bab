"""The `[train]` section of a recipe."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from regard.settings import Section


class Train(Section):
    """How a model is trained; any task."""

    steps: int = Field(10_000, ge=1)
    """Updates of the weights, counted from the start of the run."""
    minutes: float | None = Field(None, gt=0)
    """Stop after so much time of training, all sessions together."""
    seed: int = Field(1, ge=-(2**63), le=2**63 - 1)
    """Of weights, order and dropout."""
    batch_tokens: int = Field(4096, ge=1)
    """Tokens of one batch, padding included, of the longer side."""
    accumulate: int = Field(1, ge=1)
    """Batches summed into one update."""
    optimiser: Literal["adam", "adamw", "radam"] = "adam"
    """The update rule."""
    rate: float = Field(5e-3, gt=0)
    """Learning rate at its peak."""
    schedule: Literal["inverse-root", "linear", "cosine", "constant"] = "inverse-root"
    """How the rate falls after the warm-up."""
    warmup: int = Field(1000, ge=0)
    """Steps in which the rate rises to its peak."""
    betas: tuple[float, float] = (0.9, 0.98)
    """Adam's memory of gradients and of their squares."""
    epsilon: float = Field(1e-9, gt=0)
    """Adam's guard against division by zero."""
    decay: float = Field(0.0, ge=0)
    """Weight decay."""
    clip: float = Field(1.0, ge=0)
    """Largest norm of the gradient; 0 = no limit."""
    smoothing: float = Field(0.1, ge=0, lt=1)
    """Label smoothing."""
    agreement: float = Field(0.0, ge=0)
    """Text to text: pairs are read twice with other dropout, guesses that differ cost so much (R-Drop); 0: once."""
    save_every: int = Field(500, ge=1)
    """Steps between saves, with a validation before each."""
    average: int = Field(5, ge=1)
    """The model is the mean of the weights at this many saves."""
    keep: int = Field(2, ge=1)
    """Complete saves kept to resume from."""
    patience: int = Field(0, ge=0)
    """Stop after so many validations without a better score; 0 = never."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the products; auto takes bfloat16 where the processor has it and the model is wide enough to win."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to train; auto takes an accelerator where torch can use one, a rank each."""
    threads: int = Field(0, ge=0)
    """Processor threads; 0 = all cores, shared by a machine's ranks. The same number gives the same weights."""
    shard: Literal["no", "optimiser", "gradients", "all"] = "no"
    """With several ranks: what each has only a part of; gradients: optimiser too, all: both and the weights."""
    wait: float = Field(600, gt=0)
    """Seconds that ranks wait for each other before they give up and name the one that did not come."""
