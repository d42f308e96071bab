"""What there is to look at: an encoder's output, a cache, a tape, image patches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attend.scope import Scope, causal, everything


@dataclass(frozen=True)
class Memory:
    """Prepared keys, values, who may see them, and where they are.

    The key at index `i` is at position `start + step * i`. `visible` tells keys from padding, None where there is
    none; `scope` limits further who sees what. A memory may have fewer heads than the queries that look at it
    (grouped and multi-query attention).
    """

    keys: Float[Tensor, "b g k d"]
    values: Float[Tensor, "b g k v"]
    scope: Scope = everything
    start: int = 0
    step: int = 1
    visible: Bool[Tensor, "#b k"] | None = None

    def __len__(self) -> int:
        return self.keys.shape[2]

    @property
    def positions(self) -> Int[Tensor, " k"]:
        return torch.arange(len(self), device=self.keys.device) * self.step + self.start

    @property
    def last(self) -> int:
        """The position of the last key."""
        return self.start + self.step * (len(self) - 1)

    def then(self, newer: Memory) -> Memory:
        """This memory followed by a newer one: a growing cache, or tokens and segments placed in front."""
        if newer.start != self.last + self.step or newer.step != self.step:
            raise ValueError(
                f"a memory that ends at position {self.last} cannot go on at {newer.start}; "
                f"prepare the newer part with start={self.last + self.step}"
            )
        batch = max(self.keys.shape[0], newer.keys.shape[0])
        keys = (m.keys.expand(batch, -1, -1, -1) for m in (self, newer))
        values = (m.values.expand(batch, -1, -1, -1) for m in (self, newer))
        return Memory(
            torch.cat(tuple(keys), 2),
            torch.cat(tuple(values), 2),
            _joined(self.scope, newer.scope, newer.start),
            self.start,
            self.step,
            _joined_visible(self, newer, batch),
        )

    def pick(self, rows: Int[Tensor, " b2"]) -> Memory:
        """The rows a beam goes on with, in their order; a row may be picked more than once."""
        return replace(
            self,
            keys=self.keys[rows],
            values=self.values[rows],
            scope=self.scope.pick(rows),
            visible=self.visible if self.visible is None or len(self.visible) == 1 else self.visible[rows],
        )

    def moved(self, by: int) -> Memory:
        """The same keys seen from a later segment: `older.moved(-len(older))` ends just before position 0."""

        def sees(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
            return self.scope(b, h, q - by, k - by)

        unmoved = self.scope in (everything, causal)  # the same wherever one counts from
        scope = self.scope if unmoved else replace(self.scope, sees=sees, parts=(), rows=None)
        return replace(self, scope=scope, start=self.start + by)

    def detach(self) -> Memory:
        """The same memory, through which no gradient flows back (Transformer-XL's older segments)."""
        return replace(self, keys=self.keys.detach(), values=self.values.detach())

    def spread(self, heads: int) -> Memory:
        """The memory as `heads` query heads see it: each of its own heads serves as many."""
        own = self.keys.shape[1]
        if own == heads:
            return self
        if heads % own:
            raise ValueError(
                f"{heads} query heads cannot share {own} memory heads evenly; try {own * (heads // own or 1)}"
            )
        times = heads // own
        return replace(
            self, keys=self.keys.repeat_interleave(times, 1), values=self.values.repeat_interleave(times, 1)
        )


class Tokens(nn.Module):
    """Learned tokens put before a memory, at negative positions. Sukhbaatar et al. 2019, persistent memory."""

    def __init__(self, count: int, heads: int, d_key: int, d_value: int | None = None) -> None:
        super().__init__()
        self.keys = nn.Parameter(torch.randn(1, heads, count, d_key) * d_key**-0.5)
        self.values = nn.Parameter(torch.randn(1, heads, count, d_value or d_key) * count**-0.5)

    def forward(self, memory: Memory) -> Memory:
        return Memory(self.keys, self.values, start=memory.start - self.keys.shape[2]).then(memory)


def split_scope(
    scope: Scope, keys: Float[Tensor, "b *h k d"], start: int
) -> tuple[Bool[Tensor, "#b k"] | None, Scope]:
    """Padding, answered once for all queries (None = there is none), and what else limits who sees what."""
    if scope is everything:
        return None, everything
    batch, count = keys.shape[0], keys.shape[-2]
    positions = torch.arange(start, start + count, device=keys.device)
    scope.check(batch, count)
    visible, rest, two_queries = None, everything, positions.new_tensor([0, 1])
    for part in scope.conjuncts:
        table = part.table(batch, 1, two_queries, positions)
        if table.shape[2] > 1:  # the answer differs between queries
            rest = rest & part
            continue
        shown = table.any(1).squeeze(1).expand(-1, len(positions))
        visible = shown if visible is None else visible & shown
    return visible, rest


def joint_table(
    scopes: Sequence[Scope], query: Float[Tensor, "b h q d"], memory: Memory, at: int
) -> Bool[Tensor, "#b #h #q #k"] | None:
    """Who may see whom: what all of these scopes allow, and is no padding; None where there is no limit."""
    table = None if memory.visible is None else memory.visible[:, None, None]
    rows = torch.arange(at, at + query.shape[2], device=query.device) if scopes else None
    for scope in scopes:
        assert rows is not None
        answer = scope.table(query.shape[0], query.shape[1], rows, memory.positions)
        table = answer if table is None else table & answer
    return table


def guarded(rows: Float[Tensor, "b *h k d"], visible: Bool[Tensor, "#b k"] | None) -> Float[Tensor, "b *h k d"]:
    """Rows whose padding meets no harm: a weight of 0 silences any number, but 0 times NaN is NaN.

    On a CPU the sum tells, at a tenth of the cost, whether there is anything to guard against.
    """
    if visible is None or (rows.device.type == "cpu" and bool(rows.detach().sum().isfinite())):
        return rows
    return without_padding(rows, visible)


def without_padding(
    rows: Float[Tensor, "b *h k d"], visible: Bool[Tensor, "#b k"] | None
) -> Float[Tensor, "b *h k d"]:
    """Zeros in place of padding."""
    if visible is None:
        return rows
    hidden = ~visible if rows.dim() == 3 else ~visible.unsqueeze(1)
    return rows.masked_fill(hidden.unsqueeze(-1), 0.0)


def _joined(older: Scope, newer: Scope, border: int) -> Scope:
    """Each scope for its own side of the border."""
    if older is newer:
        return older
    below = Scope(f"before {border}", lambda b, h, q, k: k < border)
    return (older & below) | (newer & ~below)


def _joined_visible(older: Memory, newer: Memory, batch: int) -> Bool[Tensor, "#b k"] | None:
    if older.visible is None and newer.visible is None:
        return None
    shown = (
        (m.keys.new_ones(1, len(m), dtype=torch.bool) if m.visible is None else m.visible).expand(batch, -1)
        for m in (older, newer)
    )
    return torch.cat(tuple(shown), 1)
