"""Score, scope, select, read: every attention mechanism is these four choices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attend import fast
from regard.attend.bias import Bias
from regard.attend.memory import Memory, guarded, joint_table, split_scope
from regard.attend.scope import Scope, Scoping, causal, everything
from regard.attend.score import Past, Score, Scores
from regard.attend.select import Select, Softmax, softmax_in_place
from regard.attend.tables import read_by


@dataclass(frozen=True)
class Look:
    """The answer: what was read, with which weights, and how likely that choice was (0.0 = certain).

    `allowed` tells *may not see* from *sees and does not care*; None where everything may be seen.
    """

    context: Float[Tensor, "b *h q v"]
    weights: Float[Tensor, "b h q k"]
    log_prob: Float[Tensor, "b h q"] | float = 0.0
    allowed: Bool[Tensor, "#b #h #q #k"] | None = None


Watcher = Callable[["Attention", Look], None]


class Mechanism(nn.Module, ABC):
    """A query looks at a memory. `look` always has weights; calling the module gives the context alone."""

    @abstractmethod
    def memory(self, keys: Tensor, values: Tensor | None = None, scope: Scope = everything, start: int = 0) -> Memory:
        """Prepare what there is to look at, once; without values the keys are read."""

    @abstractmethod
    def look(self, query: Tensor, memory: Memory, at: int = 0, past: Past | None = None) -> Look:
        """The plain reading, with every weight there to see; the first query is at position `at`."""

    @abstractmethod
    def forward(self, query: Tensor, memory: Memory, at: int = 0, past: Past | None = None) -> Tensor:
        """The context alone, by the fastest reading that gives the same answer."""

    def look_within(self, x: Tensor, scope: Scope = everything, at: int = 0) -> Look:
        """Self-attention: `x`, which begins at position `at`, looks at itself."""
        return self.look(x, self.memory(x, scope=scope, start=at), at)

    def within(self, x: Tensor, scope: Scope = everything, at: int = 0) -> Tensor:
        """Self-attention, the context alone."""
        return self(x, self.memory(x, scope=scope, start=at), at)  # type: ignore[no-any-return]


class Attention(Mechanism):
    """One mechanism, four choices: how keys are scored, selected, limited and biased.

    Tensors are `b n d`, or `b h n d` with a head axis; without one they are read as one head, and the context
    comes back without one. While training with dropout on the weights the reading is plain, so that watching
    draws the same random numbers.
    """

    def __init__(
        self,
        score: Score,
        select: Select | None = None,
        scope: Scope | Scoping = everything,
        bias: Bias | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout is a share in [0, 1); got {dropout}")
        self.score = score
        self.select = select or Softmax()
        self.scope = scope
        self.bias = bias
        self.dropout = dropout
        self.watchers: tuple[Watcher, ...] = ()

    def memory(self, keys: Tensor, values: Tensor | None = None, scope: Scope = everything, start: int = 0) -> Memory:
        values = keys if values is None else values
        one_value_each(keys, values)
        keys, values = with_heads(keys, "keys"), with_heads(values, "values")
        visible, scope = split_scope(scope, keys, start)
        prepared = self.score.prepare(guarded(keys, visible))
        return Memory(prepared, guarded(values, visible), scope, start, visible=visible)

    def look(self, query: Tensor, memory: Memory, at: int = 0, past: Past | None = None) -> Look:
        asked = with_heads(query, "query")
        _same_batch(asked, memory)
        look = self.read(asked, memory, at, past)
        for watcher in self.watchers:
            watcher(self, look)
        return look if query.dim() == 4 else replace(look, context=look.context.squeeze(1))

    def forward(self, query: Tensor, memory: Memory, at: int = 0, past: Past | None = None) -> Tensor:
        if self.watchers or (self.training and self.dropout > 0):
            return self.look(query, memory, at, past).context
        asked = with_heads(query, "query")
        _same_batch(asked, memory)
        context = fast.read(self, asked, memory, at, past)
        if context is None:
            return self.look(query, memory, at, past).context
        return context if query.dim() == 4 else context.squeeze(1)

    def read(
        self,
        query: Float[Tensor, "b h q d"],
        memory: Memory,
        at: int = 0,
        past: Past | None = None,
        scores: Scores | None = None,
    ) -> Look:
        """Score, bias, select, read, with nothing hidden; `scores` if they are at hand already."""
        if self.score.looks_back and query.shape[2] > 1 and scores is None:
            return self._in_turn(query, memory, at, past)
        memory = memory.spread(query.shape[1])
        scores = self.score(query, memory.keys, past) if scores is None else scores
        scores = scores.float() if scores.dtype in (torch.float16, torch.bfloat16) else scores
        allowed = self.allowed(query, memory, at)
        if self.bias is not None:
            added = self.bias(query, memory, at)
            shown = added > -torch.inf
            allowed = shown if allowed is None else allowed & shown
            scores = scores + added
        if fast.scores_are_free(self, scores):
            weights, log_prob = softmax_in_place(scores, allowed), 0.0
        else:
            weights, log_prob = self.select(scores, allowed, query, past)
        weights = weights.to(memory.values.dtype)
        kept = F.dropout(weights, self.dropout) if self.training and self.dropout > 0 else weights
        return Look(read_by(kept, memory.values), weights, log_prob, allowed)

    def _in_turn(self, query: Float[Tensor, "b h q d"], memory: Memory, at: int, past: Past | None) -> Look:
        """One query after another, each with the weights of those before it in its past."""
        looks: list[Look] = []
        for t, asked in enumerate(query.split(1, 2)):
            look = self.read(asked, memory, at + t, past)
            past = look.weights if past is None else torch.cat((past, look.weights), 2)
            looks.append(look)
        context, weights = (torch.cat(some, 2) for some in zip(*((x.context, x.weights) for x in looks), strict=True))
        chances = [look.log_prob for look in looks if isinstance(look.log_prob, Tensor)]
        limits = [look.allowed for look in looks if look.allowed is not None]
        return Look(
            context, weights, torch.cat(chances, 2) if chances else 0.0, torch.cat(limits, 2) if limits else None
        )

    def scopes(self, query: Float[Tensor, "b h q d"], memory: Memory, at: int) -> tuple[Scope, ...]:
        """All that limits these queries: the mechanism's scope, the contents', the data's."""
        if self.scope is everything and memory.scope is everything:
            return ()
        own = self.scope(query, memory, at) if isinstance(self.scope, Scoping) else self.scope
        parts = tuple(dict.fromkeys(own.conjuncts + memory.scope.conjuncts))  # causal twice is causal
        if at >= memory.last:  # decoding: nothing is ahead yet
            return tuple(part for part in parts if part is not causal)
        return parts

    def allowed(self, query: Float[Tensor, "b h q d"], memory: Memory, at: int) -> Bool[Tensor, "#b #h #q #k"] | None:
        """The table of all scopes together; None where everything may be seen."""
        return joint_table(self.scopes(query, memory, at), query, memory, at)

    def extra_repr(self) -> str:
        return f"scope={self.scope.name}" if isinstance(self.scope, Scope) else ""


def with_heads(x: Tensor, what: str) -> Float[Tensor, "b h n d"]:
    """A tensor without a head axis is one head."""
    if x.dim() == 3:
        return x.unsqueeze(1)
    if x.dim() == 4:
        return x
    raise ValueError(
        f"{what} of shape {tuple(x.shape)}: give (batch, length, width), or (batch, heads, length, width); "
        "one state per row is state[:, None]"
    )


def one_value_each(keys: Tensor, values: Tensor) -> None:
    """Keys and values come in pairs."""
    if keys.shape[:-1] != values.shape[:-1]:
        raise ValueError(
            f"keys {tuple(keys.shape)} and values {tuple(values.shape)} differ before their last axis; "
            "there is one value for each key"
        )


def _same_batch(query: Tensor, memory: Memory) -> None:
    if query.shape[0] != memory.keys.shape[0]:
        raise ValueError(
            f"{query.shape[0]} rows of queries look at {memory.keys.shape[0]} rows of memory; "
            "the batch must be the same: expand one side, or memory.pick(rows)"
        )
