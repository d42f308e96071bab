"""Cells whose gradients are worked out by hand, for whole sequences: what `cells.along` means, several times faster.

The loop has only what must wait for the step before; all that can is one large product before it or after it. Rows
are time-major here, `t b ...`, so that a step is one piece of memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.models.recurrence.cells import Cell, Gru, Lstm, Rnn

Steps = Float[Tensor, "t b _"]
Rows = Float[Tensor, "b _"]

aten = torch.ops.aten


class CellByHand(ABC):
    """A cell's steps and, run back, their gradients.

    `given` comes with what is known of the input for all steps, and the gates are put in its place. `weight` and
    `bias` are the cell's `hidden`; products are formed in the precision of `weight`.
    """

    def __init__(self, given: Steps, first: Rows, weight: Tensor, bias: Tensor) -> None:
        self.gates, self.weight, self.bias = given, weight, bias
        self.width = weight.shape[1]
        self.states = given.new_empty(len(given) + 1, *first.shape)  # the first, then one per step
        self.states[0] = first

    @abstractmethod
    def forward(self, t: int) -> None:
        """Take step `t`: from `states[t]` to `states[t + 1]`."""

    def begin(self) -> None:
        """Make room for gradients."""
        self.to_gates = torch.empty_like(self.gates)

    @abstractmethod
    def backward(self, t: int, grad: Rows) -> None:
        """Turn the gradient of `states[t + 1]` into that of `states[t]`, in place, and note that of the gates."""

    def shown(self, t: int) -> Rows:
        """What others see of the state before step `t`."""
        return self.states[t, :, : self.width]

    def all_shown(self, after: int) -> Steps:
        """What was shown before each step, or after it."""
        return self.states[after : after + len(self.gates), :, : self.width]

    def to_hidden(self) -> tuple[Tensor, Tensor]:
        """The gradients of `weight` and `bias`, all steps in one product."""
        return outer(self.to_gates, self.all_shown(0).to(self.weight.dtype)), self.to_gates.sum((0, 1))


class RnnByHand(CellByHand):
    """h' = tanh(given + U h)."""

    def forward(self, t: int) -> None:
        add_product(self.gates[t], self.states[t], self.weight.t()).add_(self.bias).tanh_()
        self.states[t + 1] = self.gates[t]

    def backward(self, t: int, grad: Rows) -> None:
        aten.tanh_backward.grad_input(grad, self.gates[t], grad_input=self.to_gates[t])
        add_product(grad.zero_(), self.to_gates[t], self.weight)


class LstmByHand(CellByHand):
    """Gates in torch's order: write, keep, new, show."""

    def forward(self, t: int) -> None:
        width, gates, before, after = self.width, self.gates[t], self.states[t], self.states[t + 1]
        add_product(gates, before[:, :width], self.weight.t()).add_(self.bias)
        write, keep, new, show = gates.chunk(4, 1)
        gates[:, : 2 * width].sigmoid_()
        new.tanh_()
        show.sigmoid_()
        kept = after[:, width:]
        torch.mul(keep, before[:, width:], out=kept).addcmul_(write, new)
        torch.tanh(kept, out=after[:, :width]).mul_(show)

    def backward(self, t: int, grad: Rows) -> None:
        before, after = self.states[t, :, self.width :], self.states[t + 1, :, self.width :]
        write, keep, new, show = self.gates[t].chunk(4, 1)
        to_write, to_keep, to_new, to_show = self.to_gates[t].chunk(4, 1)
        to_shown, to_kept = grad.chunk(2, 1)
        open_ = after.tanh()
        aten.sigmoid_backward.grad_input(to_shown * open_, show, grad_input=to_show)
        to_kept += aten.tanh_backward(to_shown * show, open_)
        aten.sigmoid_backward.grad_input(to_kept * new, write, grad_input=to_write)
        aten.sigmoid_backward.grad_input(to_kept * before, keep, grad_input=to_keep)
        aten.tanh_backward.grad_input(to_kept * write, new, grad_input=to_new)
        to_kept *= keep
        add_product(to_shown.zero_(), self.to_gates[t], self.weight)


class GruByHand(CellByHand):
    """Gates in torch's order: reset, keep, new; `new_too` is the state's part of new, before the reset."""

    def __init__(self, given: Steps, first: Rows, weight: Tensor, bias: Tensor) -> None:
        super().__init__(given, first, weight, bias)
        self.new_too = given.new_empty(*given.shape[:2], self.width)

    def forward(self, t: int) -> None:
        two, before = 2 * self.width, self.states[t]
        decide, new, new_too = self.gates[t, :, :two], self.gates[t, :, two:], self.new_too[t]
        add_product(decide, before, self.weight[:two].t()).add_(self.bias[:two]).sigmoid_()
        new_too[:] = self.bias[two:]
        add_product(new_too, before, self.weight[two:].t())
        new.addcmul_(decide[:, : self.width], new_too).tanh_()
        torch.lerp(new, before, decide[:, self.width :], out=self.states[t + 1])

    def begin(self) -> None:
        super().begin()
        self.to_new_too = torch.empty_like(self.new_too)

    def backward(self, t: int, grad: Rows) -> None:
        reset, keep, new = self.gates[t].chunk(3, 1)
        to_reset, to_keep, to_new = self.to_gates[t].chunk(3, 1)
        away = self.states[t] - new
        aten.sigmoid_backward.grad_input(away.mul_(grad), keep, grad_input=to_keep)
        kept = grad * keep
        aten.tanh_backward.grad_input(grad.sub_(kept), new, grad_input=to_new)
        aten.sigmoid_backward.grad_input(to_new * self.new_too[t], reset, grad_input=to_reset)
        torch.mul(to_new, reset, out=self.to_new_too[t])
        two = 2 * self.width
        add_product(grad.copy_(kept), self.to_gates[t, :, :two], self.weight[:two])
        add_product(grad, self.to_new_too[t], self.weight[two:])

    def to_hidden(self) -> tuple[Tensor, Tensor]:
        decide, two = self.to_gates[..., : 2 * self.width], (0, 1)
        before = self.all_shown(0).to(self.weight.dtype)
        parts = [outer(part, before) for part in (decide, self.to_new_too)]
        return torch.cat(parts), torch.cat((decide.sum(two), self.to_new_too.sum(two)))


BY_HAND: dict[type[Cell], type[CellByHand]] = {Gru: GruByHand, Lstm: LstmByHand, Rnn: RnnByHand}


def along(
    cell: Cell, x: Float[Tensor, "b n d"], first: Rows, lengths: Tensor | None
) -> Float[Tensor, "b n s"] | None:
    """All states of a cell that reads a sequence, from its end where `lengths` say how long each row is.

    None for a cell of a kind not known here.
    """
    kind = BY_HAND.get(type(cell))
    if kind is None:
        return None
    weights = (cell.input.weight, cell.input.bias, cell.hidden.weight, cell.hidden.bias)
    precision = products_in(x)
    with torch.autocast(x.device.type, enabled=False):
        states: Tensor = _Along.apply(kind, precision, lengths, x.transpose(0, 1), first, *weights)  # type: ignore[no-untyped-call]
    return states.transpose(0, 1)


class _Along(torch.autograd.Function):
    """A cell along a sequence; from the end, a row's state stays at zeros until its last word."""

    @staticmethod
    def forward(
        ctx: Any, kind: Any, precision: Any, lengths: Tensor | None, x: Steps, first: Rows, *weights: Tensor
    ) -> Tensor:
        ctx.save_for_backward(*weights)
        weight, bias, hidden, hidden_bias = weights
        ctx.x = x = (x if lengths is None else x.flip(0)).to(precision).contiguous()
        ctx.shut = {} if lengths is None else _padding(len(x), lengths, bias)
        given = product(x, weight.to(precision).t(), bias)
        cell: CellByHand = kind(given, first, hidden.to(precision), hidden_bias)
        ctx.cell = cell
        ctx.turned = lengths is not None
        for t in range(len(x)):
            cell.forward(t)
            if t in ctx.shut:
                cell.states[t + 1] *= ctx.shut[t]
        return cell.states[1:].flip(0) if ctx.turned else cell.states[1:]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, arriving: Tensor) -> tuple[Tensor | None, ...]:
        weight, *_ = ctx.saved_tensors
        cell, x = ctx.cell, ctx.x
        cell.begin()
        arriving = arriving.flip(0) if ctx.turned else arriving
        grad = torch.zeros_like(cell.states[0])
        for t in reversed(range(len(arriving))):
            grad += arriving[t]
            if t in ctx.shut:
                grad *= ctx.shut[t]
            cell.backward(t, grad)
        to_x = product(cell.to_gates, weight.to(x.dtype))
        to_x = to_x.flip(0) if ctx.turned else to_x
        return None, None, None, to_x, grad, outer(cell.to_gates, x), cell.to_gates.sum((0, 1)), *cell.to_hidden()


def _padding(steps: int, lengths: Tensor, like: Tensor) -> dict[int, Tensor]:
    """By step from the end: 0 for rows of which that is padding; only steps at which there are some."""
    return {t: (lengths >= steps - t).to(like.dtype).unsqueeze(1) for t in range(steps - int(lengths.min()))}


def products_in(x: Tensor) -> torch.dtype:
    """The precision in which products are formed here."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype


def product(x: Float[Tensor, "t b d"], weight: Float[Tensor, "d o"], bias: Tensor | None = None) -> Steps:
    """All steps through one map, in the precision of its weight."""
    rows = x.reshape(-1, x.shape[-1]).to(weight.dtype)
    out = rows @ weight if bias is None else torch.addmm(bias.to(weight.dtype), rows, weight)
    return out.view(*x.shape[:2], -1).to(x.dtype if bias is None else bias.dtype)


def outer(grad: Steps, x: Steps) -> Float[Tensor, "o d"]:
    """The gradient of a weight, summed over all steps and rows."""
    return (grad.reshape(-1, grad.shape[-1]).to(x.dtype).t() @ x.reshape(-1, x.shape[-1])).to(grad.dtype)


def add_product(total: Rows, x: Rows, weight: Float[Tensor, "d o"]) -> Rows:
    """total + x·weight, in place."""
    if weight.dtype == total.dtype:
        return total.addmm_(x, weight)
    return total.add_(x.to(weight.dtype) @ weight)
