"""Who may see what: yes-or-no questions about positions, joined by `&`, `|` and `~`.

A scope answers for a batch row `b`, a head `h`, a query position `q` and a key position `k`. `True` means *may
see*, here and everywhere. Positions below zero are memory tokens and older segments, so `causal` sees them
without a special case.
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

if TYPE_CHECKING:
    from regard.attend.memory import Memory

Question = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Scope:
    """A question about positions, and what is known of its answer.

    `back` and `ahead` bound how far from its query a visible key can be; a finite reach is what lets a reading
    skip most of the memory. `parts` are the scopes that `&` joined. `rows` says which row of the data each row
    of the batch stands for, once a beam has been reordered; a scope that is `positional`, about q and k alone,
    need not care. `batch` and `keys` are the sizes of the data it was made for, if it was made for any.
    """

    name: str
    sees: Question
    back: float = math.inf
    ahead: float = math.inf
    parts: tuple[Scope, ...] = ()
    rows: Int[Tensor, " b"] | None = None
    batch: int | None = None
    keys: int | None = None
    positional: bool = False

    def __post_init__(self) -> None:
        try:
            inspect.signature(self.sees).bind(0, 0, 0, 0)
        except TypeError:
            raise ValueError(
                f"scope '{self.name}' asks with {inspect.signature(self.sees)}; "
                "it is called with four positions (b, h, q, k): write lambda b, h, q, k: ..."
            ) from None

    def __call__(self, b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        return self.sees(b if self.rows is None else self.rows[b], h, q, k)

    def __and__(self, other: Scope) -> Scope:
        if self is everything or other is everything:
            return other if self is everything else self
        return Scope(
            f"{self.name} & {other.name}",
            lambda b, h, q, k: self(b, h, q, k) & other(b, h, q, k),
            min(self.back, other.back),
            min(self.ahead, other.ahead),
            self.conjuncts + other.conjuncts,
            batch=self.batch or other.batch,
            keys=self.keys or other.keys,
            positional=self.positional and other.positional,
        )

    def __or__(self, other: Scope) -> Scope:
        if self is everything or other is everything:
            return everything
        return Scope(
            f"({self.name} | {other.name})",
            lambda b, h, q, k: self(b, h, q, k) | other(b, h, q, k),
            max(self.back, other.back),
            max(self.ahead, other.ahead),
            batch=self.batch or other.batch,
            keys=self.keys or other.keys,
            positional=self.positional and other.positional,
        )

    def __invert__(self) -> Scope:
        flipped = replace(self, name=f"~({self.name})", sees=lambda b, h, q, k: ~self(b, h, q, k), rows=None)
        return replace(flipped, back=math.inf, ahead=math.inf, parts=())

    @property
    def conjuncts(self) -> tuple[Scope, ...]:
        """The scopes that must all say yes; a scope not made by `&` is its own only one."""
        if self is everything:
            return ()
        if self.rows is not None:  # parts know nothing of the reordering
            return (self,)
        return self.parts or (self,)

    def pick(self, rows: Int[Tensor, " b"]) -> Scope:
        """The same scope for a batch whose row i is what was row `rows[i]`."""
        if self.positional:
            return self
        return replace(self, rows=rows if self.rows is None else self.rows[rows], batch=len(rows))

    def check(self, batch: int, keys: int) -> None:
        """Refuse data of another size than the scope was made for."""
        for made_for, found, what in ((self.batch, batch, "rows in a batch"), (self.keys, keys, "keys")):
            if made_for not in (None, found):
                raise ValueError(
                    f"scope '{self.name}' was made for {made_for} {what} and meets {found}; make both from one batch"
                )

    def table(
        self, batch: int, heads: int, queries: Int[Tensor, " q"], keys: Int[Tensor, " k"]
    ) -> Bool[Tensor, "#b #h #q #k"]:
        """The answer for all positions; axes on which it does not depend stay 1 wide."""
        device = keys.device
        answer = self(
            torch.arange(batch, device=device).view(-1, 1, 1, 1),
            torch.arange(heads, device=device).view(1, -1, 1, 1),
            queries.view(1, 1, -1, 1),
            keys.view(1, 1, 1, -1),
        )
        if answer.dtype != torch.bool:
            raise ValueError(f"scope '{self.name}' answered {answer.dtype}; a scope answers True or False")
        return answer.view((1,) * (4 - answer.dim()) + tuple(answer.shape))


def _yes(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
    return torch.ones((1, 1, 1, 1), dtype=torch.bool, device=k.device)


def _positional(name: str, sees: Question, back: float = math.inf, ahead: float = math.inf) -> Scope:
    return Scope(name, sees, back, ahead, positional=True)


everything = _positional("everything", _yes)
itself = _positional("itself", lambda b, h, q, k: q == k, 0, 0)
causal = _positional("causal", lambda b, h, q, k: k <= q, math.inf, 0)


def window(before: int, after: int | None = None) -> Scope:
    """Keys at most `before` behind and `after` ahead (the same, unless said): `window(5, 0)` sees the past only."""
    ahead = before if after is None else after
    if before < 0 or ahead < 0:
        raise ValueError(f"window({before}, {ahead}) has a negative side; use 0 to see nothing on that side")
    return _positional(
        f"window({before}, {ahead})", lambda b, h, q, k: (q - k <= before) & (k - q <= ahead), before, ahead
    )


def dilated(reach: int, gap: int) -> Scope:
    """Every `gap`-th key, `reach` of them on either side (Beltagy et al. 2020)."""
    _positive("dilated", gap=gap)
    return _positional(
        f"dilated({reach}, {gap})",
        lambda b, h, q, k: ((q - k).abs() <= reach * gap) & ((q - k) % gap == 0),
        reach * gap,
        reach * gap,
    )


def strided(step: int) -> Scope:
    """Keys a whole number of steps away (Child et al. 2019, the second head of the strided pattern)."""
    _positive("strided", step=step)
    return _positional(f"strided({step})", lambda b, h, q, k: (q - k) % step == 0)


def block(size: int) -> Scope:
    """Keys in the query's own block of `size` positions."""
    _positive("block", size=size)
    return _positional(f"block({size})", lambda b, h, q, k: q // size == k // size, size - 1, size - 1)


def first(count: int) -> Scope:
    """Global tokens: the first `count` positions see all and are seen by all; `first(0)` means memory tokens."""
    return _positional(f"first({count})", lambda b, h, q, k: (k < count) | (q < count))


def lengths(lengths: Int[Tensor, " b"] | Sequence[int]) -> Scope:
    """Padding: row `b` has keys at positions below `lengths[b]` only."""
    counts = torch.as_tensor(lengths)
    if counts.dim() != 1 or counts.is_floating_point():
        raise ValueError(
            f"lengths wants one whole number per sentence; got {counts.dtype} of shape {tuple(counts.shape)}: "
            "try mask.sum(-1) if you hold a padding mask"
        )
    return Scope("lengths", lambda b, h, q, k: k < counts.to(k.device)[b], batch=len(counts))


def mask(table: Bool[Tensor, ...], at: int = 0, start: int = 0) -> Scope:
    """A table you already have, `(q, k)`, `(b, q, k)` or `(b, h, q, k)`, an axis of 1 holding for all.

    Its first row is for the query at position `at`, its first column for the key at position `start`.
    """
    if table.dtype != torch.bool:
        raise ValueError(
            f"a mask of {table.dtype} could mean weights, or 1 = hide; a mask is boolean and True means may see: "
            "try mask.bool() if 1 means may see, ~mask.bool() if 1 means hide"
        )
    shape = tuple(table.shape)
    if not 2 <= table.dim() <= 4:
        raise ValueError(f"a mask has shape (q, k), (b, q, k) or (b, h, q, k); got {shape}: try lengths(...)")
    full = table if table.dim() == 4 else table.unsqueeze(-3)  # b 1 q k, or 1 q k
    full = full if full.dim() == 4 else full.unsqueeze(0)

    def sees(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        spots = [_spot(i, size) for i, size in zip((b, h, q - at, k - start), full.shape, strict=True)]
        if any(fits is not None and not bool(fits.all()) for _, fits in spots):
            raise ValueError(
                f"a mask of shape {shape} does not fit {b.numel()} rows, {h.numel()} heads, "
                f"{q.numel()} queries and {k.numel()} keys: give (q, k), (b, q, k) or (b, h, q, k)"
            )
        return full.to(k.device)[tuple(spot for spot, _ in spots)]

    rows, columns = full.shape[0], full.shape[3]
    return Scope("mask", sees, batch=rows if rows > 1 else None, keys=columns if columns > 1 else None)


def adjacency(table: Bool[Tensor, "*b n n"]) -> Scope:
    """A graph: query `q` sees key `k` where `table[q, k]`; positions outside the graph have no edges."""
    if table.dtype != torch.bool or table.dim() not in (2, 3) or table.shape[-1] != table.shape[-2]:
        raise ValueError(
            f"adjacency wants a boolean (n, n) or (b, n, n); got {table.dtype} of shape {tuple(table.shape)}: "
            "try edges([(receiver, sender), ...], nodes) if you hold a list of edges"
        )
    full = table if table.dim() == 3 else table.unsqueeze(0)
    nodes = full.shape[-1]

    def sees(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        inside = (q >= 0) & (q < nodes) & (k >= 0) & (k < nodes)
        row = b if full.shape[0] > 1 else torch.zeros_like(b)
        return inside & full.to(k.device)[row, q.clamp(0, nodes - 1), k.clamp(0, nodes - 1)]

    return Scope("adjacency", sees, batch=full.shape[0] if full.shape[0] > 1 else None)


def edges(pairs: Sequence[tuple[int, int]], nodes: int) -> Scope:
    """A graph given as (receiver, sender) pairs: the receiver owns the query, the sender the key and value."""
    table = torch.zeros(nodes, nodes, dtype=torch.bool)
    for receiver, sender in pairs:
        if not (0 <= receiver < nodes and 0 <= sender < nodes):
            raise ValueError(f"edge ({receiver}, {sender}) leaves the graph of {nodes} nodes, 0 ... {nodes - 1}")
        table[receiver, sender] = True
    return adjacency(table)


def tree(parents: Sequence[int]) -> Scope:
    """A syntax tree: a node sees itself, its parent and its children; the root's parent is -1."""
    pairs = [(node, node) for node in range(len(parents))]
    pairs += [(node, parent) for node, parent in enumerate(parents) if parent >= 0]
    pairs += [(parent, node) for node, parent in enumerate(parents) if parent >= 0]
    return edges(pairs, len(parents))


def buckets(
    queries: Int[Tensor, "r b h q"], keys: Int[Tensor, "r b h k"], at: int = 0, start: int = 0, step: int = 1
) -> Scope:
    """Same bucket in any of `r` rounds: what hashing or clustering the contents found to be close."""

    def sees(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        asked = queries[:, b, h, q - at]
        offered = keys[:, b, h, (k - start) // step if step else torch.arange(k.numel(), device=k.device)]
        return (asked == offered).any(0)

    return Scope("buckets", sees)


class Scoping(nn.Module, ABC):
    """A scope that depends on contents: looks at queries and keys and answers with a scope."""

    @abstractmethod
    def forward(self, query: Float[Tensor, "b h q d"], memory: Memory, at: int) -> Scope:
        """The scope of these queries in this memory."""

    def __and__(self, scope: Scope) -> Scoping:
        return Within(self, scope)


class Within(Scoping):
    """What the contents say, inside a scope of positions."""

    def __init__(self, inner: Scoping, scope: Scope) -> None:
        super().__init__()
        self.inner, self.scope = inner, scope

    def forward(self, query: Float[Tensor, "b h q d"], memory: Memory, at: int) -> Scope:
        found: Scope = self.inner(query, memory, at)
        return found & self.scope


def _spot(index: Tensor, size: int) -> tuple[Tensor, Tensor | None]:
    """Where to look along one axis, and whether that is inside; an axis of 1 holds for all."""
    if size == 1:
        return torch.zeros_like(index), None
    return index.clamp(0, size - 1), (index >= 0) & (index < size)


def _positive(name: str, **sizes: int) -> None:
    for what, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} wants {what} >= 1; got {size}")
