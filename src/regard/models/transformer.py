"""The Transformer: an encoder that looks at the source, a decoder that looks at both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Self, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attend.efficient import Compression
from regard.attend.heads import Heads
from regard.attend.mechanism import Attention, Mechanism
from regard.attend.memory import Memory
from regard.attend.scope import Scope, causal, everything
from regard.attend.scope import lengths as within
from regard.attend.score import Location, Past
from regard.attend.select import Competition
from regard.models.blocks import (
    FeedForward,
    GatedFeedForward,
    LearnedPlaces,
    NoPlaces,
    PostNorm,
    PreNorm,
    Rows,
    Sinusoids,
    Words,
    embedding,
    for_products,
    output,
)
from regard.models.cache import Cache, Decoding, Said, Shared, Together, can_share
from regard.models.mechanisms import mechanism, minds_the_past
from regard.models.prepared import forget, swift
from regard.models.seq2seq import Ids, Lengths, Seq2Seq, State, Stepper
from regard.models.settings import TransformerModel


class EncoderLayer(nn.Module):
    """Each source token looks at all of them, then thinks for itself."""

    def __init__(self, attention: Mechanism, feedforward: nn.Module, residual: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.attention, self.feedforward = attention, feedforward
        self.around_attention, self.around_feedforward = residual(), residual()

    def forward(self, x: Rows, scope: Scope) -> Rows:
        """All tokens at once."""
        x = self.around_attention(x, lambda y: self.attention(y, self.attention.memory(y, scope=scope)))
        return self.around_feedforward(x, self.feedforward)  # type: ignore[no-any-return]


class DecoderLayer(nn.Module):
    """Each target token looks at those before it, then at the source, then thinks for itself."""

    def __init__(
        self, own: Mechanism, cross: Mechanism, feedforward: nn.Module, residual: Callable[[], nn.Module]
    ) -> None:
        super().__init__()
        self.own, self.cross, self.feedforward = own, cross, feedforward
        self.around_own, self.around_cross, self.around_feedforward = residual(), residual(), residual()
        # A changed memory (compressed, or with tokens in front) cannot grow: it is made anew from the words so far.
        self.keeps_memory = not (isinstance(own, Heads) and own.on_memory is not None)
        self.own_is_mindful, self.cross_is_mindful = minds_the_past(own), minds_the_past(cross)
        self.shares = self.keeps_memory and can_share(own, (everything, causal)) and can_share(cross)

    def forward(self, x: Rows, cache: Cache, at: int = 0) -> tuple[Rows, Cache]:
        """Tokens at places `at ...`, and the cache with them in it."""

        def look_back(y: Rows) -> Rows:
            nonlocal cache
            cache = self._grown(cache, y, at)
            assert cache.own is not None
            if not self.own_is_mindful:
                return self.own(y, cache.own, at)  # type: ignore[no-any-return]
            context, past = _mindful_look(self.own, y, cache.own, at, cache.own_past)
            cache = replace(cache, own_past=past)
            return context

        def look_across(y: Rows) -> Rows:
            nonlocal cache
            if not self.cross_is_mindful:
                return self.cross(y, cache.source, at)  # type: ignore[no-any-return]
            context, past = _mindful_look(self.cross, y, cache.source, at, cache.source_past)
            cache = replace(cache, source_past=past)
            return context

        x = self.around_own(x, look_back)
        x = self.around_cross(x, look_across)
        return self.around_feedforward(x, self.feedforward), cache

    def step(self, x: Float[Tensor, "s w m"], shared: Shared, scope: Scope) -> tuple[Rows, Shared]:
        """One more token for each hypothesis of each source, side by side."""

        def look_back(y: Rows) -> Rows:
            nonlocal shared
            newer = self.own.memory(y)
            shared = Shared(Said.first(newer) if shared.said is None else shared.said.then(newer), shared.source)
            assert shared.said is not None
            return self.own(y, shared.said.memory(scope), shared.said.used)  # type: ignore[no-any-return]

        x = self.around_own(x, look_back)
        x = self.around_cross(x, lambda y: self.cross(y, shared.source))
        return self.around_feedforward(x, self.feedforward), shared

    def _grown(self, cache: Cache, y: Rows, at: int) -> Cache:
        if self.keeps_memory:
            newer = self.own.memory(y, scope=causal, start=at)
            return replace(cache, own=newer if cache.own is None else cache.own.then(newer))
        words = y if cache.words is None else torch.cat((cache.words, y), 1)
        return replace(cache, own=self.own.memory(words, scope=causal), words=words)


def _mindful_look(
    look: Mechanism, y: Rows, memory: Memory, at: int, past: Past | None
) -> tuple[Rows, Float[Tensor, "b h u s"]]:
    """What is read, and all weights so far; keys that came since had none."""
    past = None if past is None else F.pad(past, (0, len(memory) - past.shape[-1]))
    seen = look.look(y, memory, at, past)
    return seen.context, seen.weights if past is None else torch.cat((past, seen.weights), 2)


class Transformer(Seq2Seq):
    """Vaswani et al. 2017, Attention Is All You Need; any mechanism in each of its three places."""

    reads_at_once = True

    def __init__(
        self,
        source: Words,
        target: Words,
        encoder: Iterable[EncoderLayer],
        decoder: Iterable[DecoderLayer],
        output: nn.Linear,
        norm: Callable[[], nn.Module],
    ) -> None:
        super().__init__()
        self.source, self.target, self.output = source, target, output
        self.encoder, self.decoder = nn.ModuleList(encoder), nn.ModuleList(decoder)
        self.encoder_norm, self.decoder_norm = norm(), norm()
        self.longest = min(_limits(target, self.decoder), default=None)
        self.longest_source = len(source.places.table) if isinstance(source.places, LearnedPlaces) else None
        self.shares = all(cast(DecoderLayer, layer).shares for layer in self.decoder)

    def states(self, source: Ids, lengths: Lengths, before: Int[Tensor, "b t"]) -> Float[Tensor, "b t m"]:
        state = self.start(source, lengths)
        return self._decode(before, state)[0]

    def start(self, source: Ids, lengths: Lengths) -> Decoding:
        scope = everything if bool((lengths == source.shape[1]).all()) else within(lengths)
        x = self.source(source)
        for layer in self.encoder:
            x = layer(x, scope)
        x = for_products(self.encoder_norm(x))
        caches = tuple(Cache(None, sight.memory(x, scope=scope)) for sight in self.sights())
        return Decoding(caches, torch.arange(len(source), device=source.device))

    def step(self, state: State, words: Int[Tensor, " b"]) -> tuple[Float[Tensor, "b v"], Decoding | Together]:
        assert isinstance(state, Decoding | Together)
        if isinstance(state, Decoding) and not (self.shares and state.at == 0 and not torch.is_grad_enabled()):
            x, state = self._decode(words.unsqueeze(1), state)
            return self.output(x[:, -1]), state
        if isinstance(state, Decoding):
            state = Together(tuple(Shared(None, cache.source) for cache in state.layers))
        x, together = self._decode_together(words, state)
        return self.output(x.flatten(0, 1)), together

    def stepper(self) -> Stepper:
        return swift(self) or self

    def train(self, mode: bool = True) -> Self:
        forget(self)
        return super().train(mode)

    def sights(self) -> list[Mechanism]:
        return [cast(DecoderLayer, layer).cross for layer in self.decoder]

    def blocks(self) -> list[nn.Module]:
        """A decoder layer is none: its look at the source is prepared before it is called."""
        return [*self.encoder, *(cast(DecoderLayer, layer).feedforward for layer in self.decoder)]

    def _decode(self, words: Ids, state: Decoding) -> tuple[Rows, Decoding]:
        x, caches = self.target(words, state.at), []
        for layer, cache in zip(self.decoder, state.layers, strict=True):
            x, cache = layer(x, cache, state.at)
            caches.append(cache)
        return self.decoder_norm(x), Decoding(tuple(caches), state.owners, state.at + words.shape[1])

    def _decode_together(self, words: Int[Tensor, " b"], state: Together) -> tuple[Rows, Together]:
        x, layers = self.target(words.unsqueeze(1), state.at), []
        x = x.view(-1, state.width, x.shape[-1])
        state = state.next()
        for layer, shared in zip(self.decoder, state.layers, strict=True):
            x, shared = cast(DecoderLayer, layer).step(x, shared, state.scope)
            layers.append(shared)
        return self.decoder_norm(x), replace(state, layers=tuple(layers))


def build_transformer(settings: TransformerModel, source_words: int, target_words: int) -> Transformer:
    """The model that these settings describe, for vocabularies of this size."""
    source, target, out = _tables(settings, source_words, target_words)

    def look(name: str) -> Mechanism:
        width, heads = settings.width, settings.heads
        groups = next(g for g in range(max(1, heads // 2), 0, -1) if heads % g == 0)
        found = mechanism(
            name, d_model=width, heads=heads, groups=groups, d_query=width, d_key=width, d_hidden=width,
            longest=settings.longest,
        )  # fmt: skip
        for part in found.modules():
            if isinstance(part, Attention) and settings.attention_dropout > 0:
                part.dropout = settings.attention_dropout
        return _alone(found, name)

    def residual() -> nn.Module:
        return (PreNorm if settings.norm == "pre" else PostNorm)(settings.width, settings.dropout)

    return Transformer(
        Words(source, _places(settings), settings.dropout),
        Words(target, _places(settings), settings.dropout),
        [
            EncoderLayer(look(settings.encoder_attention), _feedforward(settings), residual)
            for _ in range(settings.encoder_layers)
        ],
        [
            DecoderLayer(
                _growing(look(settings.decoder_attention), settings.decoder_attention),
                look(settings.cross_attention),
                _feedforward(settings),
                residual,
            )
            for _ in range(settings.decoder_layers)
        ],
        out,
        (lambda: nn.LayerNorm(settings.width)) if settings.norm == "pre" else nn.Identity,
    )


def _alone(look: Mechanism, name: str) -> Mechanism:
    """The mechanism, if what a token sees does not depend on who else is asking."""
    if any(isinstance(part, Competition) for part in look.modules()):
        raise ValueError(
            f"the queries of '{name}' compete, and here they come one by one, with padding among them; try vaswani"
        )
    return look


def _growing(look: Mechanism, name: str) -> Mechanism:
    """The mechanism, if it can look at a text that is still being written."""
    if any(isinstance(part, Compression) for part in look.modules()):
        raise ValueError(
            f"'{name}' looks at mixtures of tokens, and in the decoder they would hold words not yet said; "
            "use it as model.encoder_attention or model.cross_attention"
        )
    return look


def _limits(target: Words, decoder: Iterable[nn.Module]) -> Iterator[int]:
    """How many words can be said, by each part that has a limit."""
    for layer in decoder:
        looks = cast(DecoderLayer, layer).own.modules()
        yield from (part.place.out_features for part in looks if isinstance(part, Location))
    if isinstance(target.places, LearnedPlaces):
        yield len(target.places.table)


def _tables(
    settings: TransformerModel, source_words: int, target_words: int
) -> tuple[nn.Embedding, nn.Embedding, nn.Linear]:
    """Source and target embeddings and the output, sharing what is tied."""
    source = embedding(source_words, settings.width)
    if settings.tied == "all":
        if source_words != target_words:
            raise ValueError(
                f"model.tied = 'all' wants one vocabulary, and here are {source_words} source and {target_words} "
                "target pieces; set data.joint = true or model.tied = 'output'"
            )
        return source, source, output(source, target_words, settings.width)
    target = embedding(target_words, settings.width)
    return source, target, output(target if settings.tied == "output" else None, target_words, settings.width)


def _places(settings: TransformerModel) -> nn.Module:
    kinds: dict[str, Callable[[], nn.Module]] = {
        "sinusoid": lambda: Sinusoids(settings.width),
        "learned": lambda: LearnedPlaces(settings.width, settings.longest),
        "none": NoPlaces,
    }
    return kinds[settings.positions]()


def _feedforward(settings: TransformerModel) -> nn.Module:
    width, inner, dropout = settings.width, settings.feedforward, settings.feedforward_dropout
    if settings.activation == "swiglu":
        return GatedFeedForward(width, inner, dropout)
    return FeedForward(width, inner, F.relu if settings.activation == "relu" else F.gelu, dropout)
