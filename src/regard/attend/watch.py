"""See every look a model takes, from outside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from html import escape

from torch import Tensor, nn

from regard.attend.heads import Heads
from regard.attend.mechanism import Attention, Look
from regard.heatmap import heatmap

DRAWN = 12  # looks that a notebook draws


@dataclass(frozen=True)
class Seen:
    """One look: which mechanism took it, and what it was."""

    name: str
    look: Look

    @property
    def weights(self) -> Tensor:
        return self.look.weights


class Looks(list[Seen]):
    """What was seen, in order. A notebook draws it: the first of each batch, head by head."""

    def _repr_html_(self) -> str:
        shown = "".join(_drawn(seen) for seen in self[:DRAWN])
        more = f"<p>{len(self) - DRAWN} more looks.</p>" if len(self) > DRAWN else ""
        return f"<div>{shown or '<p>Nothing was looked at.</p>'}{more}</div>"


@contextmanager
def watch(model: nn.Module, graph: bool = False) -> Iterator[Looks]:
    """Within the block every look of every mechanism in `model` is added to the list, in order.

    The answers stay the same: a watched mechanism is read plainly, which is what its fast reading is held to.
    Blocks may be nested and overlap. Tensors are detached unless `graph`, so the list keeps no gradients alive,
    and the model keeps no reference to the list.
    """
    seen = Looks()
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


def _drawn(seen: Seen) -> str:
    weights = seen.weights[0].float().cpu()
    heads, queries, keys = weights.shape
    allowed = None if seen.look.allowed is None else seen.look.allowed[0].expand(heads, queries, keys).tolist()
    rows, columns = ([str(place + 1) for place in range(count)] for count in (queries, keys))
    maps = []
    for head, lines in enumerate(weights.tolist()):
        table = [
            [value if allowed is None or allowed[head][q][k] else None for k, value in enumerate(line)]
            for q, line in enumerate(lines)
        ]
        drawn = heatmap(table, rows, columns, f"head {head + 1}")
        maps.append(f"<figure>{drawn}<figcaption>head {head + 1}</figcaption></figure>")
    beside = f"<div style='display:flex;flex-wrap:wrap;gap:8px'>{''.join(maps)}</div>"
    return f"<details open='open'><summary>{escape(seen.name)}</summary>{beside}</details>"


def _detached(look: Look) -> Look:
    log_prob = look.log_prob.detach() if isinstance(look.log_prob, Tensor) else look.log_prob
    return replace(look, context=look.context.detach(), weights=look.weights.detach(), log_prob=log_prob)
