"""What a Transformer's decoder keeps between steps: a row a hypothesis, or shared by all hypotheses of a source."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.attend.heads import Heads
from regard.attend.mechanism import Attention, Mechanism
from regard.attend.memory import Memory
from regard.attend.scope import Scope, everything
from regard.attend.score import Additive, Concat, Dot, General, Past, ScaledDot
from regard.attend.select import Softmax, Sparsemax, TopK
from regard.models.blocks import Rows

ROOM = 32  # words a fresh room holds


@dataclass(frozen=True)
class Cache:
    """What one decoder layer looks at: the target so far, and the source; and the weights, for parts that ask."""

    own: Memory | None
    source: Memory
    words: Rows | None = None
    own_past: Past | None = None
    source_past: Float[Tensor, "b h u s"] | None = None  # within a step one look behind

    def pick(self, rows: Int[Tensor, " b2"], same_sources: bool) -> Cache:
        """These rows; the source's part need not move where every row keeps its source."""
        own = None if self.own is None else self.own.pick(rows)
        kept = (None if x is None else x[rows] for x in (self.words, self.own_past, self.source_past))
        return Cache(own, self.source if same_sources else self.source.pick(rows), *kept)


@dataclass(frozen=True)
class Decoding:
    """How far a translation is: a cache per layer, which source each row translates, and the next place."""

    layers: tuple[Cache, ...]
    owners: Int[Tensor, " b"]
    at: int = 0

    def pick(self, rows: Int[Tensor, " b2"]) -> Decoding:
        """These hypotheses."""
        owners = self.owners[rows]
        same = torch.equal(owners, self.owners)
        return Decoding(tuple(layer.pick(rows, same) for layer in self.layers), owners, self.at)


class Said:
    """Keys and values of words said, with room for more: to add some copies none of those before.

    Whoever adds first writes into the room; another that comes from the same words finds it taken, and copies.
    """

    def __init__(self, keys: Float[Tensor, "s g k d"], values: Float[Tensor, "s g k v"], used: int) -> None:
        self.keys, self.values, self.used, self.taken = keys, values, used, [used]

    def memory(self, scope: Scope) -> Memory:
        """What there is to look at."""
        return Memory(self.keys[:, :, : self.used], self.values[:, :, : self.used], scope)

    def then(self, newer: Memory) -> Said:
        """With these behind."""
        used = self.used + len(newer)
        grown = self
        if used > self.keys.shape[2] or self.taken[0] != self.used:
            keys, values = (_roomier(x[:, :, : self.used], 2 * used) for x in (self.keys, self.values))
            grown = Said(keys, values, self.used)
        grown.keys[:, :, grown.used : used] = newer.keys
        grown.values[:, :, grown.used : used] = newer.values
        after = Said(grown.keys, grown.values, used)
        after.taken = grown.taken
        after.taken[0] = used
        return after

    def pick(self, sources: Int[Tensor, " s2"]) -> Said:
        """Of these sources."""
        return Said(self.keys[sources], self.values[sources], self.used)

    @classmethod
    def first(cls, memory: Memory) -> Said:
        """The first words."""
        room = max(ROOM, 2 * len(memory))
        return cls(_roomier(memory.keys, room), _roomier(memory.values, room), len(memory))


@dataclass(frozen=True)
class Shared:
    """What one decoder layer looks at, a row a source: all that its hypotheses said, and the source."""

    said: Said | None
    source: Memory

    def pick(self, sources: Int[Tensor, " s2"]) -> Shared:
        """These sources."""
        return Shared(None if self.said is None else self.said.pick(sources), self.source.pick(sources))


@dataclass(frozen=True)
class Together:
    """How far the hypotheses of each source are, `width` of them, and which of all words said are whose.

    Hypotheses are queries side by side that look at one memory; when a beam is reordered, only `kin` moves.
    """

    layers: tuple[Shared, ...]
    width: int = 1
    kin: Bool[Tensor, "s w k"] | None = None  # None: all of them
    at: int = 0

    def pick(self, rows: Int[Tensor, " b2"]) -> Together:
        """These hypotheses; where they do not come as many of each source in turn, each gets a source of its own."""
        sources = rows // self.width
        width = _alike(sources)
        kept = sources[::width]
        present = self.layers[0].source.keys.shape[0]
        stay = len(kept) == present and torch.equal(kept, torch.arange(present, device=rows.device))
        layers = self.layers if stay else tuple(layer.pick(kept) for layer in self.layers)
        return Together(layers, width, self._kin(rows, width), self.at)

    def _kin(self, rows: Int[Tensor, " b2"], width: int) -> Bool[Tensor, "s w k"] | None:
        if self.kin is not None:
            kin: Tensor = self.kin.flatten(0, 1)[rows]
            return kin.view(-1, width, kin.shape[1])
        said = self.layers[0].said
        if width == 1 or said is None:
            return None
        return torch.ones(len(rows) // width, width, said.used, dtype=torch.bool, device=rows.device)

    def next(self) -> Together:
        """With one more word for each hypothesis, which is its own."""
        kin, width, first = self.kin, self.width, self.layers[0]
        if kin is None and width > 1:
            kin = torch.ones(first.source.keys.shape[0], width, 0, dtype=torch.bool, device=first.source.keys.device)
        if kin is not None:
            mine = torch.eye(width, dtype=torch.bool, device=kin.device)
            kin = torch.cat((kin, mine.expand(len(kin), -1, -1)), 2)
        return replace(self, kin=kin, at=self.at + 1)

    @property
    def scope(self) -> Scope:
        """Whose words a hypothesis sees: its own."""
        if self.kin is None:
            return everything
        table = self.kin.unsqueeze(1)  # asked for all queries and keys at once, always
        return Scope("kin", lambda b, h, q, k: table)


def can_share(look: Mechanism, scopes: tuple[Scope, ...] = (everything,)) -> bool:
    """Whether the place of a query changes nothing, so that queries of one place may stand side by side.

    Among words that were said all is past, so there `causal` changes nothing either.
    """
    attention = look.attention if isinstance(look, Heads) else look
    return (
        type(look) in (Heads, Attention)
        and type(attention) is Attention
        and not (isinstance(look, Heads) and look.rotary is not None)
        and attention.bias is None
        and attention.scope in scopes
        and type(attention.score) in (Dot, ScaledDot, General, Additive, Concat)
        and type(attention.select) in (Softmax, Sparsemax, TopK)
    )


def _alike(sources: Int[Tensor, " b"]) -> int:
    """How many rows in turn have one source, if all sources have as many; else 1."""
    others = (sources != sources[0]).nonzero()
    width = int(others[0]) if len(others) else len(sources)
    if width == 1 or len(sources) % width:
        return 1
    table = sources.view(-1, width)
    return width if bool((table == table[:, :1]).all()) else 1


def _roomier(x: Float[Tensor, "s g k d"], room: int) -> Float[Tensor, "s g room d"]:
    wide = x.new_empty(*x.shape[:2], room, x.shape[3])
    wide[:, :, : x.shape[2]] = x
    return wide
