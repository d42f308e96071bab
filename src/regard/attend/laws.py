"""Laws that every mechanism keeps, as functions: put your own to the test with `check`.

    laws.check(lambda: my_attention(8, 8), d_query=8, d_key=8)

Each law builds the mechanism anew, shows it random rows, and raises `LawBroken` with what differed. The package's
own tests run the same functions over the whole catalogue and over every score x selection x scope. Exceptions
stand in the docstring of the part that makes them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.attend.efficient import Compression, Linformer
from regard.attend.heads import Heads, Pooling
from regard.attend.mechanism import Attention, Look, Mechanism
from regard.attend.memory import Memory, Tokens
from regard.attend.scope import Scope, lengths
from regard.attend.select import Competition
from regard.attend.watch import watch

N = 7  # keys in a memory, and queries


class LawBroken(AssertionError):
    """A mechanism did not keep a law."""


@dataclass(frozen=True)
class Subject:
    """A mechanism to be tested: how to build it, and how wide what it looks at is; `heads` gives rows a head axis."""

    name: str
    make: Callable[[], nn.Module]
    d_query: int
    d_key: int
    heads: int | None = None

    def build(self, dtype: torch.dtype = torch.float32) -> Any:
        """The mechanism, the same each time, ready to evaluate."""
        torch.manual_seed(1)
        return self.make().to(dtype).eval()

    def queries(self, n: int = N, batch: int = 2, dtype: torch.dtype = torch.float32) -> Tensor:
        """Rows to ask with."""
        return self._rows(batch, n, self.d_query, 11, dtype)

    def keys(self, n: int = N, batch: int = 2, dtype: torch.dtype = torch.float32) -> Tensor:
        """Rows to look at."""
        return self._rows(batch, n, self.d_key, 12, dtype)

    def _rows(self, batch: int, n: int, width: int, seed: int, dtype: torch.dtype) -> Tensor:
        shape = (batch, n, width) if self.heads is None else (batch, self.heads, n, width)
        generator = torch.Generator().manual_seed(seed)
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)

    def setting(self, dtype: torch.dtype = torch.float32) -> tuple[Any, Tensor, Memory]:
        """The mechanism, queries, and a memory with some padding."""
        mechanism = self.build(dtype)
        return (
            mechanism,
            self.queries(dtype=dtype),
            mechanism.memory(self.keys(dtype=dtype), scope=lengths([N, N - 3])),
        )

    def __str__(self) -> str:
        return self.name


Law = Callable[[Subject], None]


def check(make: Callable[[], nn.Module], d_query: int, d_key: int, but: tuple[str, ...] = ()) -> list[str]:
    """Hold a mechanism to every law, `but` those it is excused from by name; the names of those it keeps."""
    kept = [law for law in LAWS if law.__name__ not in but]
    for law in kept:
        law(Subject("this mechanism", make, d_query, d_key))
    return [law.__name__ for law in kept]


def fast_equals_plain(subject: Subject) -> None:
    """The fast reading gives the plain one's answer, and so do rows that look within themselves, in one call."""
    mechanism, query, memory = subject.setting()
    with torch.no_grad():
        _close(_call(mechanism, query, memory), _look(mechanism, query, memory).context, subject)
        if isinstance(mechanism, Mechanism) and subject.d_query == subject.d_key:
            x, scope = subject.keys(), lengths([N, N - 3])
            plain = mechanism.look(x, mechanism.memory(x, scope=scope))
            within = mechanism.look_within(x, scope)
            _close(mechanism.within(x, scope), plain.context, subject)
            _close(within.context, plain.context, subject)
            _close(within.weights, plain.weights, subject)


def fast_gradients_equal_plain_ones(subject: Subject) -> None:
    """The fast reading gives the plain one's gradients, also where a row has nothing to see."""
    found = []
    for reading in (_context, _call):
        mechanism = subject.build(torch.float64)
        query = subject.queries(dtype=torch.float64).requires_grad_()
        keys = subject.keys(dtype=torch.float64).requires_grad_()
        context = reading(mechanism, query, mechanism.memory(keys, scope=lengths([N, 0])))
        (context * torch.linspace(-1, 1, context.numel(), dtype=context.dtype).view_as(context)).sum().backward()
        found.append(
            [x.new_zeros(x.shape) if x.grad is None else x.grad for x in (query, keys, *mechanism.parameters())]
        )
    for plain, fast in zip(*found, strict=True):
        _close(fast, plain, subject, 1e-9)


def padding_never_changes_the_answer(subject: Subject) -> None:
    """Keys beyond a sentence's length change nothing and get no weight."""
    mechanism, query, keys = subject.build(), subject.queries(), subject.keys()
    with torch.no_grad():
        short = _look(mechanism, query, mechanism.memory(keys))
        padded = mechanism.memory(torch.cat((keys, 100 * keys[..., :3, :]), -2), scope=lengths([N, N]))
        long, size = _look(mechanism, query, padded), short.weights.shape[-1]
        _close(long.context, short.context, subject)
        _close(long.weights[..., :size], short.weights, subject)
        _hold(not long.weights[..., size:].any(), subject, "padding has weight")
        _close(_call(mechanism, query, padded), short.context, subject)


def masked_tokens_change_nothing(subject: Subject) -> None:
    """Whatever stands outside scope, the answer is the same bit for bit."""
    mechanism, query, keys = subject.build(), subject.queries(), subject.keys()
    changed = keys.clone()
    changed[1, ..., 4:, :] += 3.0
    with torch.no_grad():
        before, after = (mechanism.memory(x, scope=lengths([N, 4])) for x in (keys, changed))
        for reading in (_call, _context, _weights):
            same = torch.equal(reading(mechanism, query, before), reading(mechanism, query, after))
            _hold(same, subject, "a masked token changed the answer")


def nan_in_padding_never_leaks(subject: Subject) -> None:
    """Not even a NaN in padding reaches an answer or a gradient."""
    keys = subject.keys()
    keys[1, ..., 4:, :] = torch.nan
    for reading in (_call, _context):
        mechanism, query = subject.build(), subject.queries().requires_grad_()
        _finite(reading(mechanism, query, mechanism.memory(keys, scope=lengths([N, 4]))), mechanism, subject)


def nothing_to_see_reads_zeros(subject: Subject) -> None:
    """A query that may see nothing reads zeros, never NaN, and gradients stay finite."""
    if _has(subject.build(), Tokens, Linformer):
        return  # learned keys and mixtures are there to see even in an empty memory
    for reading in (_call, _context):
        mechanism, query, keys = subject.build(), subject.queries().requires_grad_(), subject.keys().requires_grad_()
        memory = mechanism.memory(keys, scope=lengths([N, 0]))
        context = reading(mechanism, query, memory)
        _hold(torch.equal(context[1], _nothing(mechanism, context)), subject, "a blind query read something")
        _hold(not _weights(mechanism, query, memory)[1].any(), subject, "a blind query has weights")
        _finite(context, mechanism, subject, query, keys)


def future_cannot_change_the_past(subject: Subject) -> None:
    """Where the scope looks back only, later tokens change no earlier answer, bit for bit."""
    mechanism, keys = subject.build(), subject.keys()
    scope = next(m for m in mechanism.modules() if isinstance(m, Attention)).scope
    if (
        subject.d_query != subject.d_key
        or not isinstance(scope, Scope)
        or scope.ahead > 0
        or _has(mechanism, Competition)
    ):
        return
    changed = keys.clone()
    changed[..., 4:, :] += 3.0
    with torch.no_grad():
        for reading in (_call, _context):
            before, after = (reading(mechanism, x, mechanism.memory(x)) for x in (keys, changed))
            _hold(torch.equal(before[..., :4, :], after[..., :4, :]), subject, "the future changed the past")


def alone_equals_in_a_batch(subject: Subject) -> None:
    """A sentence gives the same answer alone and among others."""
    mechanism, query, memory = subject.setting()
    with torch.no_grad():
        alone = _call(mechanism, query[1:], mechanism.memory(subject.keys()[1:, ..., : N - 3, :]))
        _close(_call(mechanism, query, memory)[1:], alone, subject)


def step_by_step_equals_all_at_once(subject: Subject) -> None:
    """Queries asked one by one, with the weights so far as their past, read what they read together."""
    mechanism, query, memory = subject.setting()
    if isinstance(mechanism, Pooling) or _has(mechanism, Competition):
        return
    with torch.no_grad():
        whole = mechanism.look(query, memory)
        for t in range(N):
            asked, past = query[..., t : t + 1, :], whole.weights[:, :, :t]
            for context in (mechanism(asked, memory, t, past), mechanism.look(asked, memory, t, past).context):
                _close(context, whole.context[..., t : t + 1, :], subject)


def grown_cache_equals_the_whole(subject: Subject) -> None:
    """A memory that grew step by step, or whose rows were picked anew, reads as one made at once."""
    mechanism, query, keys = subject.build(), subject.queries(), subject.keys()
    if _has(mechanism, Compression, Tokens):
        return  # these are made of a whole memory
    rows = torch.tensor([1, 0, 1])
    with torch.no_grad():
        grown = mechanism.memory(keys[..., :3, :])
        for t in range(3, N):
            grown = grown.then(mechanism.memory(keys[..., t : t + 1, :], start=t))
        expected = _look(mechanism, query, mechanism.memory(keys)).context
        _close(_call(mechanism, query, grown), expected, subject)
        _close(_call(mechanism, query[rows], grown.pick(rows)), expected[rows], subject)


def watching_changes_nothing(subject: Subject) -> None:
    """A watched mechanism answers as an unwatched one, and its looks are seen."""
    mechanism, query, memory = subject.setting()
    with torch.no_grad():
        before = _call(mechanism, query, memory)
        with watch(mechanism) as seen:
            _close(_call(mechanism, query, memory), before, subject)
        _hold(len(seen) == 1, subject, f"{len(seen)} looks were seen, not 1")
        _hold(torch.equal(seen[0].weights, _weights(mechanism, query, memory)), subject, "other weights were seen")
        _hold(torch.equal(_call(mechanism, query, memory), before), subject, "watching left something behind")


def saving_and_loading_changes_nothing(subject: Subject) -> None:
    """All that a mechanism is, is in its state."""
    mechanism, query, memory = subject.setting()
    torch.manual_seed(99)
    other: Any = subject.make().eval()
    other.load_state_dict(copy.deepcopy(mechanism.state_dict()))
    again = other.memory(subject.keys(), scope=lengths([N, N - 3]))
    with torch.no_grad():
        same = torch.equal(_call(other, query, again), _call(mechanism, query, memory))
    _hold(same, subject, "a loaded copy answers differently")


LAWS: tuple[Law, ...] = (
    fast_equals_plain,
    fast_gradients_equal_plain_ones,
    padding_never_changes_the_answer,
    masked_tokens_change_nothing,
    nan_in_padding_never_leaks,
    nothing_to_see_reads_zeros,
    future_cannot_change_the_past,
    alone_equals_in_a_batch,
    step_by_step_equals_all_at_once,
    grown_cache_equals_the_whole,
    watching_changes_nothing,
    saving_and_loading_changes_nothing,
)


def _look(mechanism: Any, query: Tensor, memory: Memory) -> Look:
    """A look, by whoever owns the question."""
    look: Look = mechanism.look(memory) if isinstance(mechanism, Pooling) else mechanism.look(query, memory)
    return look


def _call(mechanism: Any, query: Tensor, memory: Memory) -> Tensor:
    context: Tensor = mechanism(memory) if isinstance(mechanism, Pooling) else mechanism(query, memory)
    return context


def _context(mechanism: Any, query: Tensor, memory: Memory) -> Tensor:
    return _look(mechanism, query, memory).context


def _weights(mechanism: Any, query: Tensor, memory: Memory) -> Tensor:
    return _look(mechanism, query, memory).weights


def _nothing(mechanism: nn.Module, context: Tensor) -> Tensor:
    """What zeros become: themselves, or what the heads' last projection makes of them."""
    outer = mechanism.mechanism if isinstance(mechanism, Pooling) else mechanism
    if not isinstance(outer, Heads):
        return torch.zeros_like(context[1])
    zeros = context.new_zeros(context.shape[1], outer.out.in_features)
    return nn.functional.linear(zeros, outer.out.weight, outer.out.bias)


def _has(mechanism: nn.Module, *kinds: type) -> bool:
    return any(isinstance(module, kinds) for module in mechanism.modules())


def _hold(kept: bool | Tensor, subject: Subject, broken: str) -> None:
    if not kept:
        raise LawBroken(f"{subject}: {broken}")


def _close(got: Tensor, expected: Tensor, subject: Subject, tolerance: float = 2e-6) -> None:
    """Equal up to rounding, relative to the largest number."""
    apart = float((got - expected).detach().abs().max())
    allowed = tolerance * max(1.0, float(expected.detach().abs().max()))
    _hold(apart <= allowed, subject, f"{apart:.1e} apart where {allowed:.1e} is allowed")


def _finite(context: Tensor, mechanism: nn.Module, subject: Subject, *leaves: Tensor) -> None:
    _hold(torch.isfinite(context).all(), subject, "the answer is not finite")
    if context.requires_grad:
        context.sum().backward()
    for leaf in (*leaves, *mechanism.parameters()):
        _hold(leaf.grad is None or torch.isfinite(leaf.grad).all(), subject, "a gradient is not finite")
