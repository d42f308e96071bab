"""Faster readings of the same answer, found by the types of the parts; the plain reading specifies each.

A reading returns None where it does not apply, and the plain one is used: slower, never wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
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
from regard.attend.short import is_short, softmax_read
from regard.attend.tables import products, read_by

if TYPE_CHECKING:
    from regard.attend.mechanism import Attention

Query = Float[Tensor, "b h q d"]
Context = Float[Tensor, "b h q v"]

BLOCK = 128  # queries read at a time where the scope's reach is short
MIDDLE = range(96, 161)  # lengths at which two products are faster than the fused kernel, on a processor,
WIDE = 64  # of heads this wide at least,
SMALL = 1 << 21  # and as long as all weights are in its cache
ROOM = 1 << 20  # numbers in one chunk of additive scores: 4 MiB in float32, about a core's cache


_company_matters = ContextVar("company_matters", default=True)

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


@contextmanager
def whatever_the_company() -> Iterator[None]:
    """Within it no reading is chosen by how many are read together, which would change a row's last digits."""
    before = _company_matters.set(False)
    try:
        yield
    finally:
        _company_matters.reset(before)


def sdpa(attention: Attention, query: Query, memory: Memory, at: int, past: Past | None = None) -> Context | None:
    """Softmax of a dot product, by torch's fused kernel."""
    score = attention.score
    assert isinstance(score, DotScore)
    asked, keys, values = score.ask(query), memory.keys, memory.values
    same_width(asked, keys, type(score).__name__)
    scopes = attention.scopes(query, memory, at)
    square = query.shape[2] == len(memory) and at == memory.start and memory.step == 1
    triangle = square and scopes == (causal,) and memory.visible is None and attention.bias is None
    if _products_are_faster(attention, query, memory):
        limit = _triangle(query) if triangle else joint_table(scopes, query, memory, at)
        return two_products(asked, memory, score.scale(keys.shape[-1]), limit)
    if attention.bias is None and is_short(asked, memory):
        allowed = joint_table(scopes, query, memory, at)
        context = softmax_read(asked, memory, score.scale(keys.shape[-1]), allowed)
        if context is not None:
            return context
    width, out = keys.shape[-1], values.shape[-1]
    if width != out:  # the fused kernel wants one width, and zeros change no product
        asked, keys = F.pad(asked, (0, max(0, out - width))), F.pad(keys, (0, max(0, out - width)))
        values = F.pad(values, (0, max(0, width - out)))
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


def two_products(asked: Query, memory: Memory, scale: float, limit: Tensor | None) -> Context | None:
    """Softmax of a dot product, by two products of tables, the first of which puts away what may not be seen.

    `limit` is a table of who may see whom, or one to add; nothing is limited without.
    """
    if limit is not None and limit.dtype == torch.bool:
        if not bool(limit.any(-1).all()):
            return None  # who sees nothing reads zeros, which softmax does not give
        limit = (~limit).to(asked.dtype) * torch.finfo(asked.dtype).min
    scores = products(asked, memory.keys, scale, limit)
    return read_by(torch.softmax(scores, -1, out=scores), memory.values)


def blocked(reading: Reading, attention: Attention, query: Query, memory: Memory, at: int) -> Context:
    """A scope of short reach, a block of queries at a time: time and memory grow with n, not n²."""
    assert isinstance(attention.scope, Scope)

    def run(block: Tensor, keys: Tensor, values: Tensor, first: int, low: int) -> Tensor:
        visible = None if memory.visible is None else memory.visible[:, low : low + keys.shape[2]]
        near = replace(memory, keys=keys, values=values, start=memory.start + low, visible=visible)
        context = reading(attention, block, near, at + first, None)
        return attention.read(block, near, at + first).context if context is None else context

    spans = []
    for first in range(0, query.shape[2], BLOCK):
        after, here = min(first + BLOCK, query.shape[2]), at - memory.start  # a query's place, counted in keys
        low = max(0, first + here - int(attention.scope.back))
        high = min(len(memory), after + here + int(attention.scope.ahead))
        if low < high:
            spans.append((first, after, low, high))
    learned = [parameter for parameter in attention.parameters() if parameter.requires_grad]
    context: Tensor = _Blocks.apply(run, spans, query, memory.keys, memory.values, *learned)  # type: ignore[no-untyped-call]
    return context


class _Blocks(torch.autograd.Function):
    """Blocks of queries, each with the keys near it; the backward pass reads each block again, so none is kept."""

    @staticmethod
    def forward(
        ctx: Any, run: Any, spans: Any, query: Tensor, keys: Tensor, values: Tensor, *learned: Tensor
    ) -> Tensor:
        ctx.save_for_backward(query, keys, values, *learned)
        ctx.run, ctx.spans = run, spans
        context = values.new_zeros(*query.shape[:3], values.shape[3])
        for first, after, low, high in spans:
            part = run(query[:, :, first:after], keys[:, :, low:high], values[:, :, low:high], first, low)
            context = context if context.dtype == part.dtype else context.to(part.dtype)  # under autocast
            context[:, :, first:after] = part
        return context

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        query, keys, values, *learned = ctx.saved_tensors
        to_query, to_keys, to_values, *to_learned = (torch.zeros_like(x) for x in ctx.saved_tensors)
        for first, after, low, high in ctx.spans:
            views = (query[:, :, first:after], keys[:, :, low:high], values[:, :, low:high])
            with torch.enable_grad():
                block = tuple(view.detach().requires_grad_() for view in views)
                part = ctx.run(*block, first, low)
            arriving = grad[:, :, first:after].to(part.dtype)
            found = torch.autograd.grad(part, (*block, *learned), arriving, allow_unused=True)
            to_query[:, :, first:after] = found[0]
            to_keys[:, :, low:high] += found[1]
            to_values[:, :, low:high] += found[2]
            for total, more in zip(to_learned, found[3:], strict=True):
                if more is not None:
                    total += more
            del block, part, arriving, found  # before the next block needs room
        return None, None, to_query, to_keys, to_values, *to_learned


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
    """v·tanh(a + b) for all pairs, with the hidden layer made again in the backward pass, always in one place."""

    @staticmethod
    def forward(ctx: Any, asked: Tensor, keys: Tensor, strength: Tensor) -> Tensor:
        ctx.save_for_backward(asked, keys, strength)
        scores, room = asked.new_empty(*asked.shape[:3], keys.shape[2]), None
        for chunk, part in zip(*_chunks(keys, asked, scores), strict=True):
            room = _hidden(chunk, keys, room)
            part.copy_(room @ strength)
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        asked, keys, strength = ctx.saved_tensors
        to_asked, to_keys, to_strength = torch.empty_like(asked), torch.zeros_like(keys), torch.zeros_like(strength)
        room = None
        for chunk, arriving, to_chunk in zip(*_chunks(keys, asked, grad, to_asked), strict=True):
            room = _hidden(chunk, keys, room)
            to_strength += arriving.reshape(-1) @ room.view(-1, room.shape[-1])
            slope = room.square_().neg_().add_(1).mul_(arriving.unsqueeze(-1))  # without the strength, until the end
            to_chunk.copy_(slope.sum(3))
            to_keys += slope.sum(2)
        return to_asked * strength, to_keys * strength, to_strength


def _chunks(keys: Tensor, asked: Tensor, *others: Tensor) -> tuple[tuple[Tensor, ...], ...]:
    """As many queries at a time as leave room for their hidden layer."""
    per_query = asked.shape[0] * asked.shape[1] * asked.shape[3] * keys.shape[2]
    size = max(1, ROOM // max(1, per_query))
    return tuple(torch.split(x, size, 2) for x in (asked, *others))


def _hidden(asked: Tensor, keys: Tensor, room: Tensor | None) -> Tensor:
    """tanh(a + b), `b h q k d`, in the room that the last chunk left, if it fits."""
    a, b = asked.unsqueeze(-2), keys.unsqueeze(-3)
    fits = room is not None and room.shape[2] == asked.shape[2]
    return (torch.add(a, b, out=room) if fits else a + b).tanh_()


def scores_are_free(attention: Attention, scores: Tensor) -> bool:
    """Whether softmax may put weights where scores were: no gradient asks for them, and a product just made them.

    A large table costs more to make room for than to fill.
    """
    made_here = isinstance(attention.score, (DotScore, TanhScore))  # a union would be made anew each time
    return not scores.requires_grad and made_here and type(attention.select) is Softmax


def _products_are_faster(attention: Attention, query: Query, memory: Memory) -> bool:
    """Whether it is of the size at which a fused kernel is no help, and nothing is learned or cast."""
    batch, heads, count, width = query.shape
    return (
        _company_matters.get()
        and count in MIDDLE
        and len(memory) in MIDDLE
        and width >= WIDE
        and batch * heads * count * len(memory) <= SMALL
        and query.is_contiguous()  # heads that a projection left side by side would be copied first
        and attention.bias is None
        and not torch.is_grad_enabled()
        and query.device.type == "cpu"
        and query.dtype == memory.keys.dtype == torch.float32
        and heads == memory.keys.shape[1]
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
    )


def _triangle(query: Query) -> Float[Tensor, "1 1 q q"]:
    """What is added to scores so that only the past is seen."""
    count = query.shape[2]
    return query.new_full((1, 1, count, count), torch.finfo(query.dtype).min).triu_(1)


def _short_reach(attention: Attention, query: Query, memory: Memory) -> bool:
    """Whether a block would read less than all of the memory."""
    if query.shape[2] <= BLOCK or not isinstance(attention.scope, Scope) or memory.step != 1:
        return False
    reach = attention.scope.back + attention.scope.ahead
    return math.isfinite(reach) and reach + 2 * BLOCK < len(memory)


def _added(attention: Attention, scopes: tuple[Scope, ...], query: Query, memory: Memory, at: int) -> Tensor | None:
    """What the fused kernel adds to scores: the scopes' table, the bias, or both."""
    allowed = joint_table(scopes, query, memory, at)
    if attention.bias is None:
        return allowed
    added: Tensor = attention.bias(query, memory.spread(query.shape[1]), at)
    return added if allowed is None else added.masked_fill(~allowed, -torch.inf)
