"""Sequences of bits for machines with and without a tape; the measure is bits of surprise in a sequence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.models.settings import LstmModel, TuringModel
from regard.models.turing import Machine, build_machine
from regard.tasks.drawn import HELD_OUT, Endless, Some
from regard.tasks.settings import TapeData
from regard.tasks.tapes import Copy, Drawn, Ngrams, Priority, Recall, Repeat, TapeProblem
from regard.tasks.task import Loss


@dataclass(frozen=True)
class Shown:
    """Examples as tensors."""

    inputs: Float[Tensor, "b t d"]
    outputs: Float[Tensor, "b t o"]
    asked: Bool[Tensor, " t"]


def problem_of(data: TapeData) -> TapeProblem:
    """The problem a recipe names."""
    match data.problem:
        case "copy":
            return Copy(data.bits)
        case "repeat":
            return Repeat(data.bits)
        case "recall":
            return Recall(data.bits)
        case "ngrams":
            return Ngrams(data.context)
        case "priority":
            return Priority(data.bits)


class Taping(Endless):
    """Learn a rule on sequences of bits; fresh ones every epoch."""

    drawn_by, looked_by = "tape:pictured", "tape:looks"
    examples = "sequences"
    best_by, best_is_highest = "bits", False

    def __init__(self, data: TapeData, model: TuringModel | LstmModel, seed: int) -> None:
        super().__init__(data.rows, seed)
        self.data, self.model = data, model
        self.problem = problem_of(data)

    def build(self) -> Machine:
        return build_machine(self.model, self.problem.inputs, self.problem.outputs)

    def about(self) -> str:
        data = self.data
        return f"fresh sequences ({data.problem}) of size {data.smallest} to {data.largest}, {data.rows} a batch"

    def load(self, which: Some) -> Shown:
        rng = self.dice(which)
        size = int(rng.integers(self.data.smallest, self.data.largest + 1))
        drawn = self.problem.draw(rng, self.data.rows, size)
        return shown(drawn, which.first, which.after)

    def loss(self, model: nn.Module, batch: Shown, player: str) -> Loss:
        """Nats of surprise, summed over sequences; logged in bits."""
        total = surprise(cast(Machine, model)(batch.inputs), batch).sum()
        return Loss(total, {"loss": float(total.detach()) / math.log(2)})

    def measure(self, model: nn.Module) -> dict[str, float]:
        sizes = sorted({self.data.smallest, (self.data.smallest + self.data.largest) // 2, self.data.largest})
        found = [self.scores(cast(Machine, model), size, 64) for size in sizes]
        return {name: float(np.mean([one[name] for one in found])) for name in found[0]}

    def final(self, model: nn.Module) -> dict[str, dict[str, float]]:
        sizes = sorted({self.data.smallest, self.data.largest, *self.data.tested})
        return {f"size={n}": self.scores(cast(Machine, model), n, self.data.held_out_rows) for n in sizes}

    def scores(self, model: Machine, size: int, count: int) -> dict[str, float]:
        """Bits in a sequence, and of these what nobody can be below; the share of sequences with no bit wrong."""
        drawn = self.problem.draw(np.random.default_rng((HELD_OUT, size)), count, size)
        bits, right = 0.0, 0
        for first in range(0, count, 64):
            batch = shown(drawn, first, first + 64)
            said = model(batch.inputs)
            bits += float(surprise(said, batch).sum()) / math.log(2)
            wrong = ((said > 0) != (batch.outputs > 0.5))[:, batch.asked]
            right += int((~wrong.flatten(1).any(1)).sum())
        best = {} if drawn.best is None else {"best possible": float(drawn.best.mean()) / math.log(2)}
        return {"bits": bits / count, "exact": right / count, **best}

    def samples(self, model: nn.Module) -> str:
        drawn = self.problem.draw(np.random.default_rng(HELD_OUT - 1), 1, self.data.largest)
        batch = shown(drawn, 0, 1)
        said = (cast(Machine, model)(batch.inputs) > 0)[0, batch.asked].int().tolist()
        right = batch.outputs[0, batch.asked].int().tolist()
        return "".join(f"{_bits(a)}  > {_bits(b)}\n" for a, b in zip(right, said, strict=True))


def shown(drawn: Drawn, first: int, after: int) -> Shown:
    """Some of the examples, as tensors."""
    inputs, outputs = (torch.from_numpy(part[first:after]) for part in (drawn.inputs, drawn.outputs))
    return Shown(inputs, outputs, torch.from_numpy(drawn.asked))


def surprise(said: Float[Tensor, "b t o"], batch: Shown) -> Float[Tensor, " b"]:
    """Negative log-likelihood of the bits that are asked for, in nats, for each sequence."""
    every = F.binary_cross_entropy_with_logits(said[:, batch.asked], batch.outputs[:, batch.asked], reduction="none")
    return every.flatten(1).sum(1)


def _bits(values: Sequence[int]) -> str:
    return "".join(map(str, values))
