"""A decoder's whole loop with its gradient worked out by hand: what the wirings' `step` means, much faster.

Parts are told by their exact types; where one is not known here there is no such loop, and the plain one is used:
slower, never wrong. Rows are time-major, `t b ...`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.models.recurrence.by_hand.cells import CellByHand, Rows, Steps, add_product, outer, product
from regard.models.recurrence.by_hand.looks import LookByHand

aten = torch.ops.aten


class Joint:
    """W [a; b; ...] + c for pieces that become known at different times: the words' for all steps at once."""

    def __init__(self, weight: Tensor, bias: Tensor, widths: Sequence[int], precision: torch.dtype) -> None:
        self.weights, self.bias = weight.to(precision).split(list(widths), 1), bias

    def known(self, x: Steps, piece: int) -> Steps:
        """The part of a piece that is known for all steps."""
        return product(x, self.weights[piece].t(), self.bias)

    def unknown(self, steps: int, batch: int) -> Steps:
        """Where no piece is known yet."""
        return self.bias.expand(steps, batch, -1).clone()

    def add(self, total: Rows, x: Rows, piece: int) -> None:
        """The part of one piece at one step."""
        add_product(total, x, self.weights[piece].t())

    def back(self, grad: Rows, piece: int, into: Rows) -> None:
        """Add the gradient of one piece at one step."""
        add_product(into, grad, self.weights[piece])

    def to_known(self, grad: Steps, piece: int) -> Steps:
        """The gradient of a piece at all steps."""
        return product(grad, self.weights[piece])

    def to_weight(self, grad: Steps, pieces: Sequence[Steps]) -> tuple[Tensor, Tensor]:
        """The gradients of W and c."""
        kind = self.weights[0].dtype
        return torch.cat([outer(grad, x.to(kind)) for x in pieces], 1), grad.sum((0, 1))


class Stack:
    """Cells one above the other; `kept` are the dropout masks between them."""

    def __init__(self, cells: Sequence[CellByHand], inputs: Sequence[Joint], kept: Sequence[Steps | None]) -> None:
        self.cells, self.inputs, self.kept = cells, inputs, kept

    def forward(self, t: int, extra: Sequence[Rows]) -> None:
        """Step `t`, with what the first cell is given beside the word."""
        for piece, x in enumerate(extra, 1):
            self.inputs[0].add(self.cells[0].gates[t], x, piece)
        self.cells[0].forward(t)
        for layer in range(1, len(self.cells)):
            self.inputs[layer].add(self.cells[layer].gates[t], self._below(layer, t), 0)
            self.cells[layer].forward(t)

    def backward(self, t: int, grads: Sequence[Rows], into: Sequence[Rows]) -> None:
        """States' gradients one step back, in place; those of what the first cell was given are added."""
        for layer in reversed(range(len(self.cells))):
            cell = self.cells[layer]
            cell.backward(t, grads[layer])
            if layer:
                below, kept = grads[layer - 1][:, : cell.width], self.kept[layer]
                if kept is None:
                    self.inputs[layer].back(cell.to_gates[t], 0, below)
                else:
                    arriving = torch.zeros_like(kept[t])
                    self.inputs[layer].back(cell.to_gates[t], 0, arriving)
                    below.addcmul_(arriving, kept[t])
        for piece, grad in enumerate(into, 1):
            self.inputs[0].back(self.cells[0].to_gates[t], piece, grad)

    def _below(self, layer: int, t: int) -> Rows:
        shown, kept = self.cells[layer - 1].shown(t + 1), self.kept[layer]
        return shown if kept is None else shown * kept[t]

    def to_weights(self, pieces: Sequence[Steps]) -> list[Tensor]:
        """The gradients of each cell's four weights; `pieces` is what the first was given."""
        found: list[Tensor] = []
        for layer, (cell, joint) in enumerate(zip(self.cells, self.inputs, strict=True)):
            if layer:
                below, kept = self.cells[layer - 1].all_shown(1), self.kept[layer]
                pieces = [below if kept is None else below * kept]
            found += [*joint.to_weight(cell.to_gates, pieces), *cell.to_hidden()]
        return found


class ReadByHand:
    """tanh of a joint map, step by step: the read-out that is fed back."""

    def __init__(self, joint: Joint, given: Steps) -> None:
        self.joint, self.reads = joint, given

    def forward(self, t: int, pieces: Sequence[Rows]) -> None:
        """Step `t`, from the first pieces: those that were not known before."""
        for piece, x in enumerate(pieces):
            self.joint.add(self.reads[t], x, piece)
        self.reads[t].tanh_()

    def begin(self) -> None:
        """Make room for gradients."""
        self.to_given = torch.empty_like(self.reads)

    def backward(self, t: int, grad: Rows, into: Sequence[Rows]) -> None:
        """Add the gradients of the first pieces."""
        aten.tanh_backward.grad_input(grad, self.reads[t], grad_input=self.to_given[t])
        for piece, total in enumerate(into):
            self.joint.back(self.to_given[t], piece, total)


@dataclass
class Loop(ABC):
    """The parts of a decoder at work; `read` only where its answer is fed back, from `fed` on."""

    words: Steps
    fed: Rows
    look: LookByHand
    stack: Stack
    read: ReadByHand | None

    @staticmethod
    @abstractmethod
    def beside(seen: int, fed: int) -> list[int]:
        """Widths of what the first cell is given beside the word; `fed` is 0 where nothing is."""

    @staticmethod
    @abstractmethod
    def read_of(shown: int, seen: int, word: int) -> list[int]:
        """Widths of what is read."""

    @abstractmethod
    def forward(self) -> None:
        """All steps."""

    @abstractmethod
    def back(self, t: int, grads: Sequence[Rows], to_seen: Rows, to_read: Rows) -> Rows:
        """One step back: states' gradients in place; the answer is the gradient of what was fed."""

    @abstractmethod
    def pieces(self) -> tuple[list[Steps], list[Steps], Steps]:
        """All that the first cell was given, all that was read, and all queries."""

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """What was seen, the states of all layers, and the read-outs if they were fed."""
        states = (cell.states[1:] for cell in self.stack.cells)
        reads = () if self.read is None else (self.read.reads[:],)
        return self.look.contexts[:], *states, *reads  # views: what autograd marks must not be what it keeps

    def backward(self, to_contexts: Steps | None, *rest: Steps | None) -> list[Tensor]:
        """From the gradients of `outputs` to those of all tensors, in the order of `unroll._Plan`."""
        to_states, to_reads = rest[: len(self.stack.cells)], rest[-1] if self.read is not None else None
        self.look.begin()
        for cell in self.stack.cells:
            cell.begin()
        if self.read is not None:
            self.read.begin()
        grads = [torch.zeros_like(cell.states[0]) for cell in self.stack.cells]
        to_fed = torch.zeros_like(self.fed)
        for t in reversed(range(len(self.words))):
            for grad, arriving in zip(grads, to_states, strict=True):
                if arriving is not None:
                    grad += arriving[t]
            to_seen = torch.zeros_like(self.look.contexts[t]) if to_contexts is None else to_contexts[t].clone()
            to_read = to_fed if to_reads is None else to_fed + to_reads[t]
            to_fed = self.back(t, grads, to_seen, to_read)
        return self._gathered(grads, to_fed)

    def _gathered(self, to_first: list[Rows], to_fed: Rows) -> list[Tensor]:
        """All that could wait for the loop to end."""
        given, read, queries = self.pieces()
        to_words = self.stack.inputs[0].to_known(self.stack.cells[0].to_gates, 0)
        to_read: tuple[Tensor, ...] = ()
        if self.read is not None:
            to_read = self.read.joint.to_weight(self.read.to_given, read)
            if len(read) > 2:
                to_words += self.read.joint.to_known(self.read.to_given, 2)
        look = self.look
        found = [to_words, to_fed, look.to_keys(), look.to_values(), *look.to_learned(queries), *to_first]
        return [*found, *self.stack.to_weights(given), *to_read]

    def fed_at(self, t: int) -> list[Rows]:
        """What is fed at step `t`, if anything."""
        if self.read is None:
            return []
        return [self.read.reads[t - 1] if t else self.fed]

    def all_fed(self) -> list[Steps]:
        """What was fed at each step, if anything."""
        return [] if self.read is None else [torch.cat((self.fed.unsqueeze(0), self.read.reads[:-1]))]

    def top(self, t: int) -> Rows:
        """What the top cell shows before step `t`."""
        return self.stack.cells[-1].shown(t)

    def to_top(self, grads: Sequence[Rows]) -> Rows:
        """The gradient of that."""
        return grads[-1][:, : self.stack.cells[-1].width]


class BeforeLoop(Loop):
    """Look with the previous state; the cell is given word, context and what is fed; read state, context, word."""

    @staticmethod
    def beside(seen: int, fed: int) -> list[int]:
        return [seen, fed] if fed else [seen]

    @staticmethod
    def read_of(shown: int, seen: int, word: int) -> list[int]:
        return [shown, seen, word]

    def forward(self) -> None:
        for t in range(len(self.words)):
            seen = self.look.forward(t, self.top(t))
            self.stack.forward(t, [seen, *self.fed_at(t)])
            if self.read is not None:
                self.read.forward(t, [self.top(t + 1), seen])

    def back(self, t: int, grads: Sequence[Rows], to_seen: Rows, to_read: Rows) -> Rows:
        to_fed = torch.zeros_like(self.fed)
        if self.read is not None:
            self.read.backward(t, to_read, [self.to_top(grads), to_seen])
        self.stack.backward(t, grads, [to_seen] if self.read is None else [to_seen, to_fed])
        self.to_top(grads).add_(self.look.backward(t, to_seen))
        return to_fed

    def pieces(self) -> tuple[list[Steps], list[Steps], Steps]:
        top, seen = self.stack.cells[-1], self.look.contexts
        return [self.words, seen, *self.all_fed()], [top.all_shown(1), seen, self.words], top.all_shown(0)


class AfterLoop(Loop):
    """The cell is given word and what is fed; look with the current state; read context and state."""

    @staticmethod
    def beside(seen: int, fed: int) -> list[int]:
        return [fed] if fed else []

    @staticmethod
    def read_of(shown: int, seen: int, word: int) -> list[int]:
        return [seen, shown]

    def forward(self) -> None:
        for t in range(len(self.words)):
            self.stack.forward(t, self.fed_at(t))
            seen = self.look.forward(t, self.top(t + 1))
            if self.read is not None:
                self.read.forward(t, [seen, self.top(t + 1)])

    def back(self, t: int, grads: Sequence[Rows], to_seen: Rows, to_read: Rows) -> Rows:
        to_fed = torch.zeros_like(self.fed)
        if self.read is not None:
            self.read.backward(t, to_read, [to_seen, self.to_top(grads)])
        self.to_top(grads).add_(self.look.backward(t, to_seen))
        self.stack.backward(t, grads, [] if self.read is None else [to_fed])
        return to_fed

    def pieces(self) -> tuple[list[Steps], list[Steps], Steps]:
        shown, seen = self.stack.cells[-1].all_shown(1), self.look.contexts
        return [self.words, *self.all_fed()], [seen, shown], shown
