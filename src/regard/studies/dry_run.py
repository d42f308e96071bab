"""What an update costs, counted and not computed: tensors that have shapes and no contents (torch's meta device).

The same functions count real tensors, which is how they are tested. What is counted is what torch on this machine
would do; an accelerator's fused kernels keep the same tensors, give or take a few bytes of random state.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from regard.attend.short import by_the_fused_kernel
from regard.models.dropout import Dropout, ResidualDropout
from regard.models.seq2seq import Seq2Seq
from regard.tasks.sequences import Batch, sequence_loss
from regard.train.optimise import as_tensors, optimiser
from regard.train.settings import Train

ATEN = torch.ops.aten


@dataclass(frozen=True)
class Forward:
    """Bytes of a forward pass."""

    kept: int
    """For the backward pass, weights not among them, dropout's masks included."""
    peak: int
    """Alive at once, at most: weights, optimiser, what is kept and what comes and goes."""


@dataclass(frozen=True)
class Cost:
    """One update with one batch: numbers of weights, bytes, floating-point operations."""

    weights: int
    tensors: int
    """Tensors that the weights are in."""
    optimiser: int
    """Bytes that the optimiser remembers."""
    forward: Forward
    peak: int
    """Bytes alive at once, at most, in the whole update: gradients are among them."""
    products: int
    """Operations of products with weights, forward and backward."""
    attention: int
    """Operations of scores and contexts, forward and backward, as if every query saw every key."""


@contextmanager
def without_contents() -> Iterator[None]:
    """Everything made inside has a shape and no contents, so that any size fits."""
    with FakeTensorMode(), _Typical():  # type: ignore[no-untyped-call]
        yield


class DryRun:
    """A model that can be updated, with every byte and operation on record.

    Dropout is left out of the run and its masks are added, a byte a number as on an accelerator: on a CPU the package
    draws them in another way, which a tensor without contents cannot.
    """

    def __init__(self, model: Seq2Seq, settings: Train, half: bool) -> None:
        """`half` forms products in bfloat16."""
        self.model, self.settings, self.half = model.eval(), settings, half
        self.rule, self.ledger, self.masks = optimiser(list(model.parameters()), settings), Ledger(), 0
        for part in model.modules():
            if isinstance(part, Dropout | ResidualDropout) and part.share > 0:
                part.register_forward_pre_hook(self._masked)
        for parameter in model.parameters():
            self.ledger.note(parameter)
            parameter.grad = torch.zeros_like(parameter)
        with self.ledger:
            self.rule.step()  # the optimiser makes room for what it remembers
        self.rule.zero_grad(set_to_none=True)

    def forward(self, rows: int, length: int) -> Forward:
        """What a forward pass costs with so many rows, each side so long."""
        return self._forward(_batch(rows, length))[0]

    def update(self, rows: int, length: int) -> Cost:
        """What a whole update costs."""
        counter = FlopCounterMode(display=False, custom_mapping=_COUNTED)
        with counter:
            found, loss = self._forward(_batch(rows, length))
            with self.ledger:
                loss.backward()
                del loss
                self.rule.step()
        self.rule.zero_grad(set_to_none=True)
        counts: dict[Any, int] = dict(counter.get_flop_counts()["Global"])
        attention = sum(count for name, count in counts.items() if name in _ATTENTION)
        parameters = list(self.model.parameters())
        remembered = as_tensors({"model": self.rule}).values()
        return Cost(
            sum(parameter.numel() for parameter in parameters),
            len(parameters),
            sum(value.nbytes for value in remembered),
            found,
            self.ledger.peak + self.masks,
            sum(counts.values()) - attention,
            attention,
        )

    def _forward(self, batch: Batch) -> tuple[Forward, Tensor]:
        kept: dict[int, int] = {}

        def keep(tensor: Tensor) -> Tensor:
            storage = tensor.untyped_storage()
            kept[storage._cdata] = storage.nbytes()
            return tensor.detach()  # a result that held itself would outlive its use

        own = {parameter.untyped_storage()._cdata for parameter in self.model.parameters()}
        self.ledger.peak, self.masks = self.ledger.now, 0
        products = torch.autocast("cpu", torch.bfloat16) if self.half else nullcontext()
        with self.ledger, saved_tensors_hooks(keep, lambda tensor: tensor), products, by_the_fused_kernel():
            loss = sequence_loss(self.model, batch, self.settings.smoothing, self.settings.agreement).total
        total = sum(size for storage, size in kept.items() if storage not in own)
        return Forward(total + self.masks, self.ledger.peak + self.masks), loss

    def _masked(self, _: nn.Module, args: tuple[Tensor, ...]) -> None:
        self.masks += args[-1].numel()


def _batch(rows: int, length: int) -> Batch:
    """Pairs without padding, each side so long."""
    words = torch.ones(rows, length, dtype=torch.long)
    return Batch(words, torch.full((rows,), length), words, words)


class Ledger(TorchDispatchMode):
    """The bytes alive now, and the most there were at once."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = self.peak = 0
        self.known: set[int] = set()

    def note(self, tensor: Tensor) -> None:
        """Count what this tensor stands on, once, until nobody needs it."""
        storage = tensor.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        if key not in self.known:
            self.known.add(key)
            self.now += size
            self.peak = max(self.peak, self.now)
            weakref.finalize(storage, self._gone, key, size)

    def _gone(self, key: int, size: int) -> None:
        self.known.discard(key)
        self.now -= size

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = function(*args, **(kwargs or {}))
        for leaf in tree_leaves(out):
            if isinstance(leaf, Tensor):
                self.note(leaf)
        return out


class _Typical(TorchDispatchMode):
    """Answers what only contents could tell: nothing is padding, every number is as it usually is."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is ATEN._local_scalar_dense.default:
            return args[0].dtype == torch.bool or 1.0
        if function is ATEN.nonzero.default:
            return args[0].new_empty((args[0].numel(), args[0].dim()), dtype=torch.long)
        return function(*args, **(kwargs or {}))


def _look(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
    """Scores and contexts: two products."""
    rows, heads, asked, width = query
    return int(2 * rows * heads * asked * key[2] * (width + value[3]))


def _look_back(_: Any, query: Any, key: Any, value: Any, *__: Any, **___: Any) -> int:
    """Two products for each of those; that the kernel forms scores anew is not counted."""
    return 2 * _look(query, key, value)


def _add_product(_: Any, left: Any, right: Any, **__: Any) -> int:
    return int(2 * left[0] * left[1] * right[1])


# torch's counter does not know these.
_ATTENTION = {
    ATEN._scaled_dot_product_flash_attention_for_cpu: _look,
    ATEN._scaled_dot_product_flash_attention_for_cpu_backward: _look_back,
}
_COUNTED: dict[Any, Any] = {**_ATTENTION, ATEN.addmm_: _add_product}
