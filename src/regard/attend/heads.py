"""Several looks side by side: project, split into heads, attend, join. And learned questions."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attend.bias import turns
from regard.attend.maps import Linear
from regard.attend.mechanism import Attention, Look, Mechanism, one_value_each
from regard.attend.memory import Memory, guarded, split_scope
from regard.attend.scope import Scope, everything
from regard.attend.score import Past

Rows = Float[Tensor, "b n m"]


class Rotary(nn.Module):
    """Turns pairs of features by an angle that grows with position, so q·k knows their distance. Su et al. 2021.

    Feature i is paired with feature i + d/2; `base` sets the slowest turn.
    """

    def __init__(self, d_key: int, base: float = 10000.0) -> None:
        super().__init__()
        if d_key % 2:
            raise ValueError(f"rotary turns pairs, so d_key must be even; got {d_key}: try {d_key + 1}")
        self.base = base

    def forward(self, x: Float[Tensor, "b h n d"], at: int) -> Float[Tensor, "b h n d"]:
        """`x` as it stands at positions `at ...`."""
        angles = turns(torch.arange(at, at + x.shape[2], device=x.device), x.shape[-1], self.base)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        left, right = x.chunk(2, -1)
        return torch.cat((left * cos - right * sin, left * sin + right * cos), -1)


class Heads(Mechanism):
    """Multi-head attention around any mechanism. Vaswani et al. 2017, 3.2.2.

    `groups` memory heads serve all query heads: 1 is multi-query, fewer than `heads` grouped-query attention.
    `d_key` and `d_value` are the widths of one head, `d_model / heads` unless said; `d_memory` is the width of what
    is looked at. `rotary` turns queries and keys by position; `on_memory` changes what is looked at:
    compresses it, or puts tokens before it. `linear` makes the projections, as in the paper without a bias.
    """

    def __init__(
        self,
        attention: Attention,
        d_model: int,
        heads: int,
        *,
        groups: int | None = None,
        d_key: int | None = None,
        d_value: int | None = None,
        d_memory: int | None = None,
        rotary: Rotary | None = None,
        on_memory: nn.Module | None = None,
        linear: Callable[[int, int], nn.Linear] | None = None,
    ) -> None:
        super().__init__()
        self.heads, self.groups = heads, groups or heads
        if heads % self.groups:
            raise ValueError(f"groups={groups} cannot serve heads={heads} evenly; try {_divisors(heads)}")
        d_key, d_value = d_key or head_width(d_model, heads), d_value or head_width(d_model, heads)
        self.attention = attention
        linear = linear or projection
        self.query = linear(d_model, heads * d_key)
        self.key = linear(d_memory or d_model, self.groups * d_key)
        self.value = linear(d_memory or d_model, self.groups * d_value)
        self.out = linear(heads * d_value, d_model)
        self.rotary, self.on_memory = rotary, on_memory

    def memory(self, keys: Tensor, values: Tensor | None = None, scope: Scope = everything, start: int = 0) -> Memory:
        visible, scope = split_scope(scope, keys, start)
        keys = guarded(keys, visible)
        values = keys if values is None else guarded(values, visible)
        one_value_each(keys, values)
        for given, layer in ((keys, self.key), (values, self.value)):
            if given.shape[-1] != layer.in_features:
                raise ValueError(f"these heads were built for memory {layer.in_features} wide; got {given.shape[-1]}")
        split_keys = split(self.key(keys), self.groups)
        if self.rotary is not None:
            split_keys = self.rotary(split_keys, start)
        prepared = self.attention.score.prepare(split_keys)
        memory = Memory(prepared, split(self.value(values), self.groups), scope, start, visible=visible)
        return memory if self.on_memory is None else self.on_memory(memory)

    def look(self, query: Rows, memory: Memory, at: int = 0, past: Past | None = None) -> Look:
        look = self.attention.look(self._ask(query, at), memory, at, past)
        return Look(self.out(join(look.context)), look.weights, look.log_prob, look.allowed)

    def forward(self, query: Rows, memory: Memory, at: int = 0, past: Past | None = None) -> Rows:
        return self.out(join(self.attention(self._ask(query, at), memory, at, past)))  # type: ignore[no-any-return]

    def _ask(self, query: Rows, at: int) -> Float[Tensor, "b h q d"]:
        if query.shape[-1] != self.query.in_features:
            raise ValueError(f"these heads were built for d_model={self.query.in_features}; got {query.shape[-1]}")
        asked = split(self.query(query), self.heads)
        return asked if self.rotary is None else self.rotary(asked, at)


class Pooling(nn.Module):
    """Learned questions put to a memory: a sentence, a set or an image becomes `count` vectors."""

    def __init__(self, mechanism: Mechanism, d_query: int, count: int = 1) -> None:
        super().__init__()
        self.mechanism = mechanism
        self.questions = nn.Parameter(torch.randn(1, count, d_query) * d_query**-0.5)

    def memory(self, keys: Tensor, values: Tensor | None = None, scope: Scope = everything, start: int = 0) -> Memory:
        """What there is to ask."""
        return self.mechanism.memory(keys, values, scope, start)

    def look(self, memory: Memory) -> Look:
        """The answers, with their weights."""
        return self.mechanism.look(self._questions(memory), memory)

    def forward(self, memory: Memory) -> Float[Tensor, "b n v"]:
        """The answers alone."""
        return self.mechanism(self._questions(memory), memory)  # type: ignore[no-any-return]

    def _questions(self, memory: Memory) -> Tensor:
        return self.questions.expand(memory.keys.shape[0], -1, -1)


def split(x: Rows, heads: int) -> Float[Tensor, "b h n d"]:
    """`b n (h d)` to `b h n d`."""
    return x.view(*x.shape[:-1], heads, -1).transpose(1, 2)


def join(x: Float[Tensor, "b h n d"]) -> Rows:
    """`b h n d` to `b n (h d)`."""
    return x.transpose(1, 2).flatten(-2)


def head_width(d_model: int, heads: int) -> int:
    """The width of one head, or an error that names the nearest widths that fit."""
    if d_model % heads:
        low = d_model // heads * heads
        raise ValueError(
            f"d_model={d_model} cannot be split evenly over heads={heads}; "
            f"try {' or '.join(str(w) for w in (low, low + heads) if w)}"
        )
    return d_model // heads


def projection(d_in: int, d_out: int) -> nn.Linear:
    """A linear map without a bias: what reads nothing stays at zeros."""
    layer = Linear(d_in, d_out, bias=False)
    nn.init.xavier_uniform_(layer.weight)
    return layer


def _divisors(heads: int) -> str:
    return ", ".join(str(g) for g in range(1, heads + 1) if heads % g == 0)
