"""Finds the loop by hand for a decoder's parts, and lets autograd call it.

Parts are told by their exact types; where one is not known here there is no such loop, and the plain one is used:
slower, never wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from regard.attend.mechanism import Attention
from regard.attend.memory import Memory
from regard.attend.scope import everything
from regard.attend.score import Additive, Concat, Dot, DotScore, General, ScaledDot, Score
from regard.attend.select import Softmax
from regard.models.recurrence.by_hand.cells import BY_HAND, CellByHand, Rows, Steps, products_in
from regard.models.recurrence.by_hand.looks import DotByHand, LookByHand, TanhByHand
from regard.models.recurrence.by_hand.loop import Joint, Loop, ReadByHand, Stack
from regard.models.recurrence.cells import Cell

MakeLook = Callable[..., LookByHand]


@dataclass(frozen=True)
class Unrolled:
    """What was seen at each step, the states of each layer, and the read-outs where they were fed back."""

    seen: Float[Tensor, "b t v"]
    states: tuple[Float[Tensor, "b t _"], ...]
    reads: Float[Tensor, "b t m"] | None


def known(attention: nn.Module | None, memory: Memory | None, cells: Sequence[nn.Module]) -> bool:
    """Whether there is a loop by hand for these parts."""
    return (
        type(attention) is Attention
        and memory is not None
        and memory.keys.shape[1] == 1
        and attention.scope is everything
        and memory.scope is everything
        and attention.bias is None
        and not attention.watchers
        and not (attention.training and attention.dropout > 0)
        and type(attention.select) is Softmax
        and type(attention.score) in (Additive, Concat, Dot, ScaledDot, General)
        and all(type(cell) in BY_HAND for cell in cells)
    )


def unroll(
    kind: type[Loop],
    cells: Sequence[Cell],
    attention: Attention,
    memory: Memory,
    words: Float[Tensor, "b t e"],
    first: Sequence[Rows],
    fed: tuple[Rows, nn.Linear] | None,
    kept: Sequence[Float[Tensor, "b t _"] | None],
) -> Unrolled:
    """All steps of a decoder whose parts are known; `fed` is what is fed first, and the map of the read-out."""
    make, learned = _look(attention.score, memory)
    masks = tuple(None if mask is None else mask.transpose(0, 1) for mask in kept)
    hands = tuple(BY_HAND[type(cell)] for cell in cells)
    plan = _Plan(kind, hands, make, len(learned), masks, fed is not None, products_in(words))
    maps = [layer for cell in cells for layer in (cell.input, cell.hidden)] + ([] if fed is None else [fed[1]])
    weights = [weight for layer in maps for weight in (layer.weight, layer.bias)]
    start = words.new_zeros(len(words), 0) if fed is None else fed[0]
    with torch.autocast(words.device.type, enabled=False):
        given = (start, memory.keys[:, 0], memory.values[:, 0], *learned, *first)
        same = (tensor.to(words.dtype) for tensor in given)
        found = _Unroll.apply(plan, words.transpose(0, 1), *same, *weights)  # type: ignore[no-untyped-call]
    seen, *rest = (x.transpose(0, 1) for x in found)
    return Unrolled(seen, tuple(rest[: len(cells)]), None if fed is None else rest[-1])


def _look(score: Score, memory: Memory) -> tuple[MakeLook, tuple[Tensor, ...]]:
    """How to make the looks by hand, and what is learned in them."""
    if isinstance(score, DotScore):
        scale = score.scale(memory.keys.shape[-1])
        return lambda *given: DotByHand(scale, memory.visible, *given), ()
    if isinstance(score, Additive):
        return lambda *given: TanhByHand(memory.visible, *given), (
            score.query.weight,
            score.query.bias,
            score.strength,
        )
    assert isinstance(score, Concat)
    weight = score.joint.weight[:, : score.d_query]
    return lambda *given: TanhByHand(memory.visible, *given), (weight, weight.new_zeros(len(weight)), score.strength)


@dataclass(frozen=True)
class _Plan:
    """What a loop is made of beside tensors, and the order of those."""

    kind: type[Loop]
    cells: tuple[type[CellByHand], ...]
    look: MakeLook
    learned: int
    kept: tuple[Steps | None, ...]
    feeds: bool
    precision: torch.dtype

    def loop(self, words: Steps, fed: Rows, keys: Tensor, values: Tensor, *rest: Tensor) -> Loop:
        """The parts, from tensors in this order: learned of the look, first states, four weights a cell, read-out."""
        words, layers, others = words.contiguous(), len(self.cells), iter(rest)
        learned, first = list(islice(others, self.learned)), list(islice(others, layers))
        weights = [list(islice(others, 4)) for _ in range(layers)]
        look = self.look(keys, values, len(words), self.precision, *learned)
        stack = self._stack(words, [look.contexts.shape[2], fed.shape[1]], first, weights)
        read = self._read(words, stack.cells[-1].width, look.contexts.shape[2], *others) if self.feeds else None
        return self.kind(words, fed, look, stack, read)

    def _stack(self, words: Steps, beside: list[int], first: list[Tensor], weights: list[list[Tensor]]) -> Stack:
        joints: list[Joint] = []
        cells: list[CellByHand] = []
        for layer, (weight, bias, hidden, hidden_bias) in enumerate(weights):
            widths = [weight.shape[1]] if layer else [words.shape[2], *self.kind.beside(*beside)]
            joint = Joint(weight, bias, widths, self.precision)
            given = joint.unknown(*words.shape[:2]) if layer else joint.known(words, 0)
            cells.append(self.cells[layer](given, first[layer], hidden.to(self.precision), hidden_bias))
            joints.append(joint)
        return Stack(cells, joints, self.kept)

    def _read(self, words: Steps, shown: int, seen: int, weight: Tensor, bias: Tensor) -> ReadByHand:
        widths = self.kind.read_of(shown, seen, words.shape[2])
        joint = Joint(weight, bias, widths, self.precision)
        return ReadByHand(joint, joint.known(words, 2) if len(widths) > 2 else joint.unknown(*words.shape[:2]))


class _Unroll(torch.autograd.Function):
    """A decoder's loop, forwards and back."""

    @staticmethod
    def forward(ctx: Any, plan: _Plan, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        ctx.loop = plan.loop(*tensors)
        ctx.loop.forward()
        outputs: tuple[Tensor, ...] = ctx.loop.outputs
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *arriving: Tensor | None) -> tuple[Tensor | None, ...]:
        _ = ctx.saved_tensors  # says so, if one of them was changed in the meantime
        with torch.autocast(ctx.loop.words.device.type, enabled=False):
            return None, *ctx.loop.backward(*arriving)
