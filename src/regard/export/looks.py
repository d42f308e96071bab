"""Attention as a function of tensors alone, which ONNX can write down: no fast readings, one way for every length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from regard.attend.bias import Alibi, Relative, RelativeKeys, SelfLast
from regard.attend.heads import Heads, join, split
from regard.attend.mechanism import Attention, Mechanism
from regard.attend.memory import Memory
from regard.attend.scope import causal, everything
from regard.models.mechanisms import minds_the_past

BIASES = (Alibi, SelfLast, Relative, RelativeKeys)
"""Those that ask for places, and for nothing else."""


@dataclass(frozen=True)
class Prepared:
    """Keys and values that are looked at, and which of them are no padding (None: all)."""

    keys: Tensor
    values: Tensor
    visible: Tensor | None

    @property
    def positions(self) -> Tensor:
        """Where each key is."""
        return torch.arange(self.keys.shape[2], device=self.keys.device)


def exportable(look: Mechanism, name: str) -> None:
    """Refuse what needs more than keys, values and their places: a window, earlier weights, a memory of its own."""
    attention = look.attention if isinstance(look, Heads) else look
    plain = (
        type(look) in (Heads, Attention)
        and type(attention) is Attention
        and (attention.bias is None or type(attention.bias) in BIASES)
        and attention.scope in (everything, causal)
        and not (isinstance(look, Heads) and look.on_memory is not None)
        and not minds_the_past(look)
    )
    if not plain:
        raise ValueError(
            f"this model's {name} cannot be written as ONNX: it needs a window, earlier weights or a memory of its "
            "own, and only what depends on keys, values and their places can; "
            f"train with model.{name} = '{'bahdanau' if name == 'attention' else 'vaswani'}'"
        )


def prepare(look: Mechanism, rows: Tensor, visible: Tensor | None, at: Any = 0) -> Prepared:
    """What is looked at: `memory` of the mechanism, without what depends on contents."""
    attention = cast(Attention, look.attention if isinstance(look, Heads) else look)
    if not isinstance(look, Heads):
        rows = rows.unsqueeze(1)
        return Prepared(attention.score.prepare(rows), rows, visible)
    keys = split(look.key(rows), look.groups)
    keys = keys if look.rotary is None else look.rotary(keys, at)
    return Prepared(attention.score.prepare(keys), split(look.value(rows), look.groups), visible)


def read(look: Mechanism, query: Tensor, memory: Prepared, at: Any) -> Tensor:
    """Score, select, read: the plain reading."""
    heads = look if isinstance(look, Heads) else None
    attention = cast(Attention, look if heads is None else heads.attention)
    asked = query.unsqueeze(1) if heads is None else split(heads.query(query), heads.heads)
    if heads is not None and heads.rotary is not None:
        asked = heads.rotary(asked, at)
    keys, values = memory.keys, memory.values
    if heads is not None and heads.groups != heads.heads:
        times = heads.heads // heads.groups
        keys, values = keys.repeat_interleave(times, 1), values.repeat_interleave(times, 1)
    scores, allowed = attention.score(asked, keys), None if memory.visible is None else memory.visible[:, None, None]
    if attention.scope is causal:
        places = torch.arange(query.shape[1], device=query.device) + at
        past = (memory.positions <= places.unsqueeze(1))[None, None]
        allowed = past if allowed is None else allowed & past
    if attention.bias is not None:
        scores = scores + attention.bias(asked, cast(Memory, Prepared(keys, values, None)), at)
    weights, _ = attention.select(scores, allowed, asked)
    context = weights @ values
    return context.squeeze(1) if heads is None else cast(Tensor, heads.out(join(context)))
