"""See every look a model takes, from outside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from torch import Tensor, nn

from regard.attend.heads import Heads
from regard.attend.mechanism import Attention, Look


@dataclass(frozen=True)
class Seen:
    """One look: which mechanism took it, and what it was."""

    name: str
    look: Look

    @property
    def weights(self) -> Tensor:
        return self.look.weights


@contextmanager
def watch(model: nn.Module, graph: bool = False) -> Iterator[list[Seen]]:
    """Within the block every look of every mechanism in `model` is added to the list, in order.

    The answers stay the same: a watched mechanism is read plainly, which is what its fast reading is held to.
    Blocks may be nested and overlap. Tensors are detached unless `graph`, so the list keeps no gradients alive,
    and the model keeps no reference to the list.
    """
    seen: list[Seen] = []
    mechanisms = {module: name for name, module in _mechanisms(model)}

    def note(mechanism: Attention, look: Look) -> None:
        seen.append(Seen(mechanisms[mechanism], look if graph else _detached(look)))

    for mechanism in mechanisms:
        mechanism.watchers = (*mechanism.watchers, note)
    try:
        yield seen
    finally:
        for mechanism in mechanisms:
            mechanism.watchers = tuple(w for w in mechanism.watchers if w is not note)


def _mechanisms(model: nn.Module) -> Iterator[tuple[str, Attention]]:
    """Every mechanism under the name people know it by: that of its heads, where it has some."""
    owners = {id(m.attention): name for name, m in model.named_modules() if isinstance(m, Heads)}
    for name, module in model.named_modules():
        if isinstance(module, Attention):
            yield owners.get(id(module), name) or type(model).__name__.lower(), module


def _detached(look: Look) -> Look:
    log_prob = look.log_prob.detach() if isinstance(look.log_prob, Tensor) else look.log_prob
    return replace(look, context=look.context.detach(), weights=look.weights.detach(), log_prob=log_prob)
