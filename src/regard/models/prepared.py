"""Which Transformers can be prepared for the search, and those that were."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from regard.attend.heads import Heads
from regard.attend.mechanism import Attention, Mechanism
from regard.attend.scope import Scope, causal, everything
from regard.attend.score import Dot, ScaledDot
from regard.attend.select import Softmax
from regard.models.blocks import FeedForward, PostNorm, PreNorm
from regard.models.swift import Swift

_PREPARED: WeakKeyDictionary[nn.Module, tuple[list[object], list[nn.Module], Swift | None]] = WeakKeyDictionary()


def swift(model: Any) -> Swift | None:
    """A Transformer prepared, anew where its weights have changed since; None where it holds what is not known here.

    Nor where somebody watches: whoever listens to the parts wants them to be called.
    """
    if model.training or torch.is_grad_enabled():
        return None
    now, before = _marks(model), _PREPARED.get(model)
    if now is None:
        return None
    if before is None or before[0] != now:
        known = all(map(_plain, model.parameters())) and _known(model)
        others = [part for part in model.modules() if part is not model]  # held, or another may get the same id
        before = _PREPARED[model] = (now, others, Swift(model) if known else None)
    return before[2]


def forget(model: nn.Module) -> None:
    """What was prepared is of no more use: the model is about to be trained."""
    _PREPARED.pop(model, None)


def _marks(model: nn.Module) -> list[object] | None:
    """What changes when a part or a weight of the model does, or who watches it; None where weights do not tell."""
    found: list[object] = []
    parts: list[nn.Module | None] = [model]
    while parts:
        part = parts.pop()
        if part is not None:
            own = part.__dict__
            weights = [weight for weight in own["_parameters"].values() if weight is not None]
            if any(weight.is_inference() for weight in weights):
                return None
            found += (id(part), own.get("watchers"), own.get("scope"), own.get("bend"))
            found += (len(own["_forward_hooks"]), len(own["_forward_pre_hooks"]))
            found += [(weight.data_ptr(), weight._version) for weight in weights]
            found += [float(weight.sum()) for weight in weights if weight.dim() == 1]  # fused rules count no version
            parts += own["_modules"].values()
    return found


def _plain(weight: Tensor) -> bool:
    return weight.device.type == "cpu" and weight.dtype == torch.float32


def _known(model: Any) -> bool:
    if any(part._forward_hooks or part._forward_pre_hooks for part in model.modules()):
        return False
    layers = [*model.encoder, *model.decoder]
    looks: list[tuple[Mechanism, tuple[Scope, ...]]] = [(layer.attention, (everything,)) for layer in model.encoder]
    looks += [(layer.own, (everything, causal)) for layer in model.decoder]
    looks += [(layer.cross, (everything,)) for layer in model.decoder]
    around = [part for layer in layers for name, part in layer.named_children() if name.startswith("around")]
    return (
        all(_is_plain(look, scopes) for look, scopes in looks)
        and all(type(layer.feedforward) is FeedForward for layer in layers)
        and (all(type(part) is PreNorm for part in around) or all(type(part) is PostNorm for part in around))
        and len({(look.heads, look.key.out_features) for look in _writing(model)}) == 1
    )


def _writing(model: Any) -> Iterator[Heads]:
    for layer in model.decoder:
        yield from (layer.own, layer.cross)


def _is_plain(look: Mechanism, scopes: tuple[Scope, ...]) -> bool:
    """Whether this is multi-head attention by softmax of dot products, and nothing more."""
    if type(look) is not Heads or type(look.attention) is not Attention:
        return False
    attention = look.attention
    return (
        look.groups == look.heads
        and look.rotary is None
        and look.on_memory is None
        and look.key.out_features == look.value.out_features
        and attention.bias is None
        and not attention.watchers
        and attention.scope in scopes
        and type(attention.score) in (Dot, ScaledDot)
        and type(attention.select) is Softmax
    )
