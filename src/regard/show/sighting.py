"""One watched pass over a translation: every look of every layer, what went into it, and the scores of every word.

The search carries no weights (see `Speaker.attention`); so whatever found the translation, beam or draw, and however
fast, here it is read once more, plainly, from outside: by `watch`, and by hooks that note what a mechanism is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attend.heads import Heads
from regard.attend.mechanism import Attention, with_heads
from regard.attend.memory import Memory
from regard.attend.watch import Seen, watch
from regard.models.seq2seq import Seq2Seq
from regard.show.ask import NothingThere
from regard.text.ids import START

Place = Literal["encoder", "decoder", "cross"]


@dataclass
class Noted:
    """What a mechanism was given, look by look."""

    queries: list[Float[Tensor, "h q d"]] = field(default_factory=list)
    scores: list[Float[Tensor, "h q k"]] = field(default_factory=list)
    memory: Memory | None = None
    at: int = 0
    asking: list[Float[Tensor, "q m"]] = field(default_factory=list)
    """What the heads were given to ask with ..."""
    asked: list[Float[Tensor, "k m"]] = field(default_factory=list)
    """... and to look at, before their projections."""


@dataclass(frozen=True)
class Sighting:
    """All looks of one mechanism, its heads together."""

    place: Place
    layer: int
    """Counted from 0 within its place."""
    name: str
    attention: Attention
    weights: Float[Tensor, "h q k"]
    allowed: Bool[Tensor, "h q k"] | None
    contexts: Float[Tensor, "h q v"]
    noted: Noted


@dataclass(frozen=True)
class Watched:
    """A pass over one translation."""

    sightings: tuple[Sighting, ...]
    logits: Float[Tensor, "t v"]
    """Of every next word, before the softmax."""

    def of(self, place: str, layer: int) -> Sighting:
        """The looks of one layer."""
        there = [one for one in self.sightings if one.place == place]
        if not there:
            known = ", ".join(dict.fromkeys(one.place for one in self.sightings)) or "none"
            raise NothingThere(f"this model has no looks at '{place}'; it has {known}")
        if not 0 <= layer < len(there):
            raise NothingThere(f"there is no layer {layer} at '{place}'; it has {len(there)}, counted from 0")
        return there[layer]


def watched(model: Seq2Seq, ids: Sequence[int], words: Sequence[int], complete: bool = True) -> Watched:
    """Read these source ids and say these words, watched; `complete` where the model came to an end itself."""
    device = next(model.parameters()).device
    before = [START, *words][: len(words) + complete]
    with torch.no_grad(), ExitStack() as stack:
        seen = stack.enter_context(watch(model))
        notes = stack.enter_context(_noting(model))
        source, said = (torch.tensor([list(row)], device=device) for row in (ids, before))
        states = model.states(source, torch.tensor([len(ids)], device=device), said)
        logits = model.output(states)[0].cpu()
    return Watched(tuple(_sightings(model, seen, notes)), logits)


def _sightings(model: Seq2Seq, seen: Sequence[Seen], notes: dict[Attention, Noted]) -> Iterator[Sighting]:
    """Looks of one mechanism are joined: a recurrent decoder takes one at a time."""
    looks: dict[str, list[Seen]] = {}
    for one in seen:
        looks.setdefault(one.name, []).append(one)
    across = {id(module) for sight in model.sights() for module in sight.modules()}
    names = dict(model.named_modules())
    layers: dict[Place, int] = {}
    for name, some in looks.items():
        module = names[name]
        attention = module.attention if isinstance(module, Heads) else module
        assert isinstance(attention, Attention)
        place: Place = "cross" if id(module) in across else "encoder" if name.startswith("encoder") else "decoder"
        layers[place] = layers.get(place, -1) + 1
        weights = torch.cat([look.weights[0] for look in some], 1).cpu()
        contexts = torch.cat([with_heads(look.look.context, "context")[0] for look in some], 1).cpu()
        yield Sighting(place, layers[place], name, attention, weights, _allowed(some), contexts, notes[attention])


def _allowed(some: Sequence[Seen]) -> Bool[Tensor, "h q k"] | None:
    tables = []
    for one in some:
        weights = one.weights[0]
        allowed = one.look.allowed
        everywhere = torch.ones_like(weights, dtype=torch.bool)
        tables.append(everywhere if allowed is None else everywhere & allowed[0])
    table = torch.cat(tables, 1).cpu()
    return None if bool(table.all()) else table


@contextmanager
def _noting(model: nn.Module) -> Iterator[dict[Attention, Noted]]:
    """Within the block, what every mechanism is given is noted; the model does not know."""
    notes = {module: Noted() for module in model.modules() if isinstance(module, Attention)}
    hooks = []
    for attention, noted in notes.items():
        hooks.append(attention.register_forward_pre_hook(_given(noted)))
        hooks.append(attention.score.register_forward_hook(_scored(noted)))
    for module in model.modules():
        if isinstance(module, Heads) and isinstance(module.attention, Attention):
            noted = notes[module.attention]
            hooks.append(module.query.register_forward_pre_hook(_before(noted.asking)))
            hooks.append(module.key.register_forward_pre_hook(_before(noted.asked)))
    try:
        yield notes
    finally:
        for hook in hooks:
            hook.remove()


def _given(noted: Noted) -> Any:
    def hook(module: nn.Module, inputs: tuple[Any, ...]) -> None:
        query, noted.memory = with_heads(inputs[0], "query"), inputs[1]
        noted.at = noted.at if noted.queries else int(inputs[2]) if len(inputs) > 2 else 0
        noted.queries.append(query[0])

    return hook


def _scored(noted: Noted) -> Any:
    def hook(module: nn.Module, inputs: tuple[Any, ...], scores: Tensor) -> None:
        noted.scores.append(scores[0].clone())  # a softmax may be taken in place

    return hook


def _before(rows: list[Tensor]) -> Any:
    def hook(module: nn.Module, inputs: tuple[Any, ...]) -> None:
        rows.append(inputs[0][0])

    return hook
