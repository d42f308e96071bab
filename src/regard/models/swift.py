"""A Transformer prepared for the search: the same sums in few calls, on copies of its weights laid out for products.

What `transformer` and `cache` do specifies it, and whatever is not written here is left to them. Queries, keys and
values come from one product, padding is read by attention alone, and hypotheses of one source look at one memory:
when a beam is reordered, only whose words are whose (`kin`) moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attend.heads import Heads
from regard.attend.score import Dot, ScaledDot
from regard.models.blocks import FeedForward, LearnedPlaces, PreNorm, Words
from regard.models.products import Map, in_one_place, mapping
from regard.models.seq2seq import Ids, Lengths, State

ROOM = 32  # words of each hypothesis that a fresh room holds
FEW = 16  # rows of a product, at least, while reading: what any of them needs (see `regard.search.steady`)

Flat = Float[Tensor, "r m"]


class _Norm:
    """Layer normalisation, by one call."""

    def __init__(self, norm: nn.LayerNorm) -> None:
        self.shape, self.eps = norm.normalized_shape, norm.eps
        self.weight, self.bias = norm.weight.detach(), None if norm.bias is None else norm.bias.detach()

    def __call__(self, x: Flat) -> Flat:
        return torch.layer_norm(x, self.shape, self.weight, self.bias, self.eps, False)


class _Network:
    """A feed-forward network, added to what it reads."""

    def __init__(self, network: FeedForward, form: Callable[..., Map]) -> None:
        self.up, self.down = form(network.up), form(network.down)
        self.bend: Callable[[Tensor], Tensor] = torch.relu_ if network.bend is F.relu else network.bend

    def onto(self, x: Flat, y: Flat) -> None:
        self.down.onto(x, self.bend(self.up(y)))


class _Words:
    """Embeddings with their places."""

    def __init__(self, words: Words) -> None:
        self.table, self.scale, self.places = words.table.weight.detach(), words.scale, words.places
        self.known: Tensor | float = self.table.new_zeros(0, 1)

    def __call__(self, ids: Int[Tensor, " r"], at: int | Int[Tensor, " r"], count: int) -> Flat:
        """Rows of these words; all at one place, or each at its own; none at `count` or beyond."""
        known = self.known
        if isinstance(known, Tensor) and len(known) < count:
            room = count if isinstance(self.places, LearnedPlaces) else max(64, 2 * count)
            known = self.places(room, 0)
            self.known = known = known if isinstance(known, float) else known.detach()
        rows = self.table.index_select(0, ids).mul_(self.scale)
        return rows if isinstance(known, float) else rows.add_(known[at])


class _Layer:
    """One layer of either side: what is done before and after each of its parts, and the parts."""

    def __init__(self, layer: Any, form: Callable[..., Map]) -> None:
        own: Heads = layer.attention if hasattr(layer, "attention") else layer.own
        self.heads, self.scale = own.heads, _scale(own)
        self.own, self.out = form(own.query, own.key, own.value), form(own.out)
        around = [layer.around_attention if hasattr(layer, "attention") else layer.around_own]
        if hasattr(layer, "cross"):
            cross: Heads = layer.cross
            self.ask, self.told, self.cross_scale = form(cross.query), form(cross.out), _scale(cross)
            self.cross_heads = cross.heads
            around.append(layer.around_cross)
        self.network = _Network(layer.feedforward, form)
        around.append(layer.around_feedforward)
        norms = [_Norm(one.norm) for one in around]
        first = isinstance(around[0], PreNorm)
        self.before: list[_Norm | None] = [norm if first else None for norm in norms]
        self.after: list[_Norm | None] = [None if first else norm for norm in norms]


class Room:
    """Keys and values of all words said, with room for more; who adds first takes it (see `cache.Said`)."""

    def __init__(self, table: Float[Tensor, "l 2 s h k d"], taken: int) -> None:
        self.table, self.taken = table, taken

    def for_more(self, used: int, more: int) -> Room:
        """This, if there is room for so many and nobody took it; else another with the same words in it."""
        if self.taken == used and used + more <= self.table.shape[4]:
            return self
        *sizes, _, width = self.table.shape
        table = self.table.new_empty(*sizes, max(ROOM * more, 2 * (used + more)), width)
        table[..., :used, :] = self.table[..., :used, :]
        return Room(table, used)


@dataclass(frozen=True)
class Going:
    """How far the hypotheses of each source are, `width` of them."""

    source: tuple[tuple[Float[Tensor, "s h n d"], Float[Tensor, "s h n d"]], ...]  # keys and values of each layer
    hidden: Float[Tensor, "s 1 1 n"]  # 0, and -inf at padding
    room: Room
    used: int = 0
    width: int = 1
    kin: Float[Tensor, "s 1 w k"] | None = None  # 0 where a word is of a hypothesis' own past, else -inf; None: all
    at: int = 0

    def pick(self, rows: Int[Tensor, " b2"]) -> State:
        """These hypotheses; where they do not come as many of each source in turn, each gets a source of its own.

        So it does where nothing was said yet: a row that only fills the batch is to be as any other.
        """
        sources = rows.numpy() // self.width
        width = _alike(sources) if self.used else 1
        kept, present = sources[::width], len(self.hidden)
        kin = self.kin
        if kin is not None:
            kin = kin.view(-1, kin.shape[3])[rows].view(-1, 1, width, kin.shape[3])
        elif width > 1:
            kin = self.hidden.new_zeros(len(kept), 1, width, self.used)
        if len(kept) == present and (kept == np.arange(present)).all():
            return replace(self, width=width, kin=kin)
        which = torch.from_numpy(kept)
        room = Room(self.room.table[..., : self.used, :].index_select(2, which), self.used)
        source = tuple((keys[which], values[which]) for keys, values in self.source)
        return Going(source, self.hidden[which], room, self.used, width, kin, self.at)

    def next(self) -> Going:
        """With room for one more word of each hypothesis, which is its own."""
        kin, used = self.kin, self.used + self.width
        if kin is not None:
            kin = torch.cat((kin, _each_its_own(self.width).expand(len(kin), 1, -1, -1)), 3)
        room = self.room.for_more(self.used, self.width)
        room.taken = used
        return Going(self.source, self.hidden, room, used, self.width, kin, self.at + 1)


class Swift:
    """The search's way through a Transformer whose parts are all known here."""

    def __init__(self, model: Any) -> None:
        self.source, self.target = _Words(model.source), _Words(model.target)
        self.form = form = mapping(model.output.in_features)
        self.encoder, self.decoder = ([_Layer(one, form) for one in side] for side in (model.encoder, model.decoder))
        self.read, self.said = (
            _Norm(norm) if isinstance(norm, nn.LayerNorm) else None
            for norm in (model.encoder_norm, model.decoder_norm)
        )
        self.memory = form(*(part for layer in model.decoder for part in (layer.cross.key, layer.cross.value)))
        self.output = form(model.output)
        layers = [*self.encoder, *self.decoder]
        self.maps: list[Map] = [m for one in layers for m in (one.own, one.out, one.network.up, one.network.down)]
        self.maps += [*(m for one in self.decoder for m in (one.ask, one.told)), self.memory, self.output]
        in_one_place(self.maps)

    def shapes(self) -> Iterator[tuple[int, int]]:
        """Outputs and inputs of every product there is."""
        yield from {one.shape for one in self.maps}

    def start(self, source: Ids, lengths: Lengths) -> Going:
        """Read the source. Maps see its words alone; attention sees them in their places, padding hidden."""
        sentences, count = source.shape
        shown = torch.arange(count) < lengths.clamp_min(1).unsqueeze(1)
        at = shown.flatten().nonzero().squeeze(1)
        full = FEW <= len(at) == shown.numel()
        if len(at) < FEW:
            at = torch.cat((at, at[:1].expand(FEW - len(at))))  # the same word again, at the same place
        hidden = torch.zeros(shown.shape).masked_fill_(~shown, -torch.inf).view(sentences, 1, 1, count)
        x = self.source(source.flatten()[at], at % count, count)
        table = None if full else x.new_zeros(shown.numel(), 3 * x.shape[1])
        for layer in self.encoder:
            y = x if layer.before[0] is None else layer.before[0](x)
            asked = layer.own(y)
            asked = (asked if table is None else table.index_copy_(0, at, asked)).view(
                sentences, count, 3, layer.heads, -1
            )
            query, keys, values = asked.permute(2, 0, 3, 1, 4).unbind(0)
            context = _look(query, keys, values, hidden, layer.scale)
            layer.out.onto(x, context if table is None else context[at])
            x = _thought(layer, x if layer.after[0] is None else layer.after[0](x))
        x = x if self.read is None else self.read(x)
        return self._going(self.memory(x), at, hidden)

    def _going(self, told: Flat, at: Int[Tensor, " r"], hidden: Float[Tensor, "s 1 1 n"]) -> Going:
        """The source's keys and values for every layer of the decoder, zeros where it has no words."""
        layers, heads = len(self.decoder), self.decoder[0].cross_heads
        sentences, count = len(hidden), hidden.shape[3]
        rows = told.view(len(told), layers, 2, heads, -1)
        table = told.new_zeros(layers, 2, sentences, heads, count, rows.shape[4])
        table.permute(2, 4, 0, 1, 3, 5)[at // count, at % count] = rows
        room = Room(table.new_empty(*table.shape[:4], 0, table.shape[5]), 0)
        both = table.flatten(0, 1).unbind(0)
        return Going(tuple(zip(both[::2], both[1::2], strict=True)), hidden, room)

    def step(self, state: State, words: Int[Tensor, " b"]) -> tuple[Float[Tensor, "b v"], Going]:
        """Scores of the next word after these words, and the state then."""
        before = cast(Going, state)
        after, width = before.next(), before.width
        x = self.target(words, before.at, before.at + 1)
        sentences = len(x) // width
        here = after.room.table[..., : after.used, :]
        new, past = here[..., before.used :, :].unbind(0), here.flatten(0, 1).unbind(0)
        for n, layer in enumerate(self.decoder):
            y = x if layer.before[0] is None else layer.before[0](x)
            asked = layer.own(y).view(sentences, width, 3, layer.heads, -1).permute(2, 0, 3, 1, 4)
            new[n].copy_(asked[1:])
            layer.out.onto(x, _look(asked[0], past[2 * n], past[2 * n + 1], after.kin, layer.scale))
            x = x if layer.after[0] is None else layer.after[0](x)
            y = x if layer.before[1] is None else layer.before[1](x)
            query = layer.ask(y).view(sentences, width, layer.cross_heads, -1).transpose(1, 2)
            layer.told.onto(x, _look(query, *after.source[n], after.hidden, layer.cross_scale))
            x = x if layer.after[1] is None else layer.after[1](x)
            x = _thought(layer, x)
        x = x if self.said is None else self.said(x)
        return self.output(x), after


def _thought(layer: _Layer, x: Flat) -> Flat:
    """Behind the last part, which every token does for itself."""
    before, after = layer.before[-1], layer.after[-1]
    layer.network.onto(x, x if before is None else before(x))
    return x if after is None else after(x)


@cache
def _each_its_own(width: int) -> Float[Tensor, "w w"]:
    return torch.full((width, width), -torch.inf).fill_diagonal_(0.0)


def _look(
    query: Float[Tensor, "s h w d"],
    keys: Float[Tensor, "s h k d"],
    values: Float[Tensor, "s h k d"],
    hidden: Float[Tensor, "s 1 #w k"] | None,
    scale: float,
) -> Float[Tensor, "r m"]:
    context = F.scaled_dot_product_attention(query, keys, values, hidden, scale=scale)
    return context.transpose(1, 2).reshape(query.shape[0] * query.shape[2], -1)


def _scale(look: Heads) -> float:
    score = look.attention.score
    assert isinstance(score, Dot | ScaledDot)
    return score.scale(look.key.out_features // look.heads)


def _alike(sources: np.ndarray) -> int:
    """How many rows in turn have one source, if all sources have as many; else 1."""
    others = np.flatnonzero(sources != sources[0])
    width = int(others[0]) if len(others) else len(sources)
    if width == 1 or len(sources) % width:
        return 1
    table = sources.reshape(-1, width)
    return width if bool((table == table[:, :1]).all()) else 1
