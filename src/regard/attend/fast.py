"""Faster readings of the same answer, found by the types of the parts; the plain reading specifies each.

A reading returns None where it does not apply, and the plain one is used: slower, never wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from regard.attend.efficient import Recurrence
from regard.attend.memory import Memory, joint_table
from regard.attend.scope import Scope, causal
from regard.attend.score import DotScore, Kernel, Past, TanhScore, same_width
from regard.attend.select import Softmax

if TYPE_CHECKING:
    from regard.attend.mechanism import Attention

Query = Float[Tensor, "b h q d"]
Context = Float[Tensor, "b h q v"]

BLOCK = 128  # queries read at a time where the scope's reach is short
ROOM = 1 << 20  # numbers in one chunk of additive scores: 4 MiB in float32, about a core's cache


Reading = Callable[["Attention", Query, Memory, int, Past | None], Context | None]


def read(attention: Attention, query: Query, memory: Memory, at: int, past: Past | None) -> Context | None:
    """The context by the fastest reading for these parts, if there is one."""
    score, soft = attention.score, type(attention.select) is Softmax
    if isinstance(score, Kernel) and soft:
        return linear(attention, query, memory, at)
    reading: Reading | None = None
    if isinstance(score, DotScore) and soft:
        reading = sdpa
    elif isinstance(score, TanhScore):
        reading = chunked
    if reading is not None and soft and _short_reach(attention, query, memory):
        return blocked(reading, attention, query, memory, at)
    return None if reading is None else reading(attention, query, memory, at, past)


def sdpa(attention: Attention, query: Query, memory: Memory, at: int, past: Past | None = None) -> Context:
    """Softmax of a dot product, by torch's fused kernel."""
    score = attention.score
    assert isinstance(score, DotScore)
    asked, keys, values = score.ask(query), memory.keys, memory.values
    same_width(asked, keys, type(score).__name__)
    width, out = keys.shape[-1], values.shape[-1]
    if width != out:  # the fused kernel wants one width, and zeros change no product
        asked, keys = F.pad(asked, (0, max(0, out - width))), F.pad(keys, (0, max(0, out - width)))
        values = F.pad(values, (0, max(0, width - out)))
    scopes = attention.scopes(query, memory, at)
    square = query.shape[2] == len(memory) and at == memory.start and memory.step == 1
    triangle = square and scopes == (causal,) and memory.visible is None and attention.bias is None
    context = F.scaled_dot_product_attention(
        asked,
        keys,
        values,
        attn_mask=None if triangle else _added(attention, scopes, query, memory, at),
        is_causal=triangle,
        scale=score.scale(width),
        enable_gqa=query.shape[1] != keys.shape[1],
    )
    return context if width <= out else context[..., :out]


def blocked(reading: Reading, attention: Attention, query: Query, memory: Memory, at: int) -> Context:
    """A scope of short reach, a block of queries at a time: time and memory grow with n, not n².

    Keys are split once and windows are joined from the pieces, so that the gradient, too, is linear in n.
    """
    assert isinstance(attention.scope, Scope)
    back, ahead = int(attention.scope.back), int(attention.scope.ahead)
    keys, values = memory.keys.split(BLOCK, 2), memory.values.split(BLOCK, 2)
    contexts = []
    for place, block in zip(range(at, at + query.shape[2], BLOCK), query.split(BLOCK, 2), strict=True):
        here = place - memory.start  # the block's first query, counted in keys
        low = min(max(0, (here - back) // BLOCK), len(keys))
        high = min(max(low, (here + block.shape[2] - 1 + ahead) // BLOCK + 1), len(keys))
        if low == high:  # no key is near
            contexts.append(block.new_zeros(*block.shape[:3], memory.values.shape[-1]))
            continue
        near = Memory(
            torch.cat(keys[low:high], 2),
            torch.cat(values[low:high], 2),
            memory.scope,
            memory.start + low * BLOCK,
            visible=None if memory.visible is None else memory.visible[:, low * BLOCK : high * BLOCK],
        )
        context = reading(attention, block, near, place, None)
        contexts.append(attention.read(block, near, place).context if context is None else context)
    return torch.cat(contexts, 2)


def linear(attention: Attention, query: Query, memory: Memory, at: int) -> Context | None:
    """Kernel scores: (φ(q)·Σ φ(k) v) / (φ(q)·Σ φ(k)), with a running sum where the past alone is seen."""
    score = attention.score
    assert isinstance(score, Kernel)
    if attention.bias is not None:
        return None
    scopes = attention.scopes(query, memory, at)
    memory = memory.spread(query.shape[1])
    keys = memory.keys if memory.visible is None else memory.keys * memory.visible[:, None, :, None]
    rows = torch.arange(at, at + query.shape[2], device=query.device)
    for scope in scopes:
        if scope is causal and memory.step == 1 and at >= memory.start:
            continue
        table = scope.table(query.shape[0], query.shape[1], rows, memory.positions)
        if table.shape[2] > 1:
            return None  # who is seen depends on the query: no single sum serves all
        keys = keys * table.transpose(-2, -1)
    features = score.features(query)
    state = Recurrence.empty(keys, memory.values)
    if causal not in scopes:
        return state.then(keys, memory.values).read(features)
    known = at - memory.start
    state = state.then(keys[:, :, :known], memory.values[:, :, :known])
    return state.read_along(features, keys[:, :, known:], memory.values[:, :, known:])


def chunked(attention: Attention, query: Query, memory: Memory, at: int, past: Past | None) -> Context | None:
    """Additive scores, a chunk of queries at a time: `b h q k d` is never formed, nor kept for the gradient."""
    score = attention.score
    assert isinstance(score, TanhScore)
    memory = memory.spread(query.shape[1])
    asked = score.ask(query)
    same_width(asked, memory.keys, type(score).__name__)
    if asked.numel() * len(memory) <= ROOM:
        return None  # small enough to read plainly
    scores: Tensor = _TanhInChunks.apply(asked, memory.keys, score.strength)  # type: ignore[no-untyped-call]
    return attention.read(query, memory, at, past, scores).context


class _TanhInChunks(torch.autograd.Function):
    """v·tanh(a + b) for all pairs, with the hidden layer made again in the backward pass."""

    @staticmethod
    def forward(ctx: Any, asked: Tensor, keys: Tensor, strength: Tensor) -> Tensor:
        ctx.save_for_backward(asked, keys, strength)
        return torch.cat([_hidden(chunk, keys) @ strength for chunk in _chunks(asked, keys)], 2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        asked, keys, strength = ctx.saved_tensors
        to_asked, to_keys, to_strength = [], torch.zeros_like(keys), torch.zeros_like(strength)
        chunks = _chunks(asked, keys)
        for chunk, part in zip(chunks, grad.split(chunks[0].shape[2], 2), strict=True):
            hidden = _hidden(chunk, keys)
            to_strength += torch.einsum("bhqk,bhqkd->d", part, hidden)
            slope = part.unsqueeze(-1) * strength * (1 - hidden * hidden)
            to_asked.append(slope.sum(3))
            to_keys += slope.sum(2)
        return torch.cat(to_asked, 2), to_keys, to_strength


def _chunks(asked: Tensor, keys: Tensor) -> tuple[Tensor, ...]:
    per_query = asked.shape[0] * asked.shape[1] * asked.shape[3] * keys.shape[2]
    return torch.split(asked, max(1, ROOM // max(1, per_query)), 2)


def _hidden(asked: Tensor, keys: Tensor) -> Tensor:
    return (asked.unsqueeze(-2) + keys.unsqueeze(-3)).tanh_()  # b h q k d


def _short_reach(attention: Attention, query: Query, memory: Memory) -> bool:
    """Whether a block would read less than all of the memory."""
    if not isinstance(attention.scope, Scope) or memory.step != 1:
        return False
    reach = attention.scope.back + attention.scope.ahead
    return math.isfinite(reach) and query.shape[2] > BLOCK and reach + 2 * BLOCK < len(memory)


def _added(attention: Attention, scopes: tuple[Scope, ...], query: Query, memory: Memory, at: int) -> Tensor | None:
    """What the fused kernel adds to scores: the scopes' table, the bias, or both."""
    allowed = joint_table(scopes, query, memory, at)
    if attention.bias is None:
        return allowed
    added: Tensor = attention.bias(query, memory.spread(query.shape[1]), at)
    return added if allowed is None else added.masked_fill(~allowed, -torch.inf)
