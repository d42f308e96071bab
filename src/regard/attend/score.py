"""How well a key answers a query: score functions, query x keys -> `b h q k`.

`prepare` does once what depends on keys alone; a memory holds keys that are prepared already. Two families
share their last step, which is what the fast readings rely on: scores that end in a dot product (`DotScore`)
and scores that end in a small perceptron (`TanhScore`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attend.tables import products

Queries = Float[Tensor, "b h q dq"]
Keys = Float[Tensor, "b h k dk"]
Scores = Float[Tensor, "b h q k"]
Past = Float[Tensor, "b h t k"]


class Score(nn.Module, ABC):
    """Gives each key a number for each query; `past` holds the weights of earlier queries, for scores that ask."""

    looks_back: bool = False
    """Whether it asks: then queries are read one after another, each with those before it in its past."""

    def prepare(self, keys: Float[Tensor, "b h k d"]) -> Float[Tensor, "b h k dk"]:
        """What depends on the keys alone, done once per memory."""
        return keys

    @abstractmethod
    def forward(self, query: Queries, keys: Keys, past: Past | None = None) -> Scores:
        """The score of each prepared key for each query."""


class DotScore(Score):
    """Scores that are a dot product with the prepared keys, times `scale`."""

    @abstractmethod
    def ask(self, query: Queries) -> Float[Tensor, "b h q dk"]:
        """The query as the prepared keys are compared with it."""

    def scale(self, width: int) -> float:
        """The factor on the product of vectors this wide."""
        return 1.0

    def forward(self, query: Queries, keys: Keys, past: Past | None = None) -> Scores:
        asked = self.ask(query)
        same_width(asked, keys, type(self).__name__)
        return products(asked, keys, self.scale(keys.shape[-1]))


class Dot(DotScore):
    """q·k. Luong, Pham & Manning 2015, eq. 8 "dot"."""

    def ask(self, query: Queries) -> Float[Tensor, "b h q dk"]:
        return query


class ScaledDot(DotScore):
    """q·k / sqrt(d), d the width of one head's keys. Vaswani et al. 2017, eq. 1."""

    def ask(self, query: Queries) -> Float[Tensor, "b h q dk"]:
        return query

    def scale(self, width: int) -> float:
        return float(width**-0.5)


class General(DotScore):
    """q·W k: widths may differ, and W = I gives `Dot`. Luong, Pham & Manning 2015, eq. 8 "general"."""

    def __init__(self, d_query: int, d_key: int) -> None:
        super().__init__()
        self.key = nn.Linear(d_key, d_query, bias=False)

    def prepare(self, keys: Float[Tensor, "b h k d"]) -> Float[Tensor, "b h k dk"]:
        return _through(self.key, keys)

    def ask(self, query: Queries) -> Float[Tensor, "b h q dk"]:
        return query


class Mapped(DotScore):
    """f(q)·g(k) with any two modules as views: Yang et al. 2016 compare a question with tanh(W k + b)."""

    def __init__(self, query: nn.Module | None = None, key: nn.Module | None = None) -> None:
        super().__init__()
        self.query = query or nn.Identity()
        self.key = key or nn.Identity()

    def prepare(self, keys: Float[Tensor, "b h k d"]) -> Float[Tensor, "b h k dk"]:
        return self.key(keys)  # type: ignore[no-any-return]

    def ask(self, query: Queries) -> Float[Tensor, "b h q dk"]:
        return self.query(query)  # type: ignore[no-any-return]


class Unit(nn.Module):
    """x / |x|, and 0 for 0."""

    def forward(self, x: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        return F.normalize(x, dim=-1, eps=1e-8)


class Scale(nn.Module):
    """x times a fixed factor."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        return x * self.factor


class Cosine(DotScore):
    """β cos(q, k) with a learned strength β > 0 per head. Graves, Wayne & Danihelka 2014, eq. 5-6.

    Without the strength no weight can exceed e / (e + (n-1)/e): 0.451 over ten keys. Freeze it with
    `Cosine(1.0).requires_grad_(False)`. `query` is a view of the query taken first, as an NTM's controller
    emits its key.
    """

    def __init__(self, strength: float = 10.0, heads: int = 1, query: nn.Module | None = None) -> None:
        super().__init__()
        if strength <= 0:
            raise ValueError(
                f"Cosine wants strength > 0; got {strength}: a negative one would look away from matches"
            )
        self.log_strength = nn.Parameter(torch.full((heads, 1, 1), strength).log())
        self.query = query or nn.Identity()
        self.unit = Unit()

    def prepare(self, keys: Float[Tensor, "b h k d"]) -> Float[Tensor, "b h k dk"]:
        return self.unit(keys)  # type: ignore[no-any-return]

    def ask(self, query: Queries) -> Float[Tensor, "b h q dk"]:
        return self.log_strength.exp() * self.unit(self.query(query))  # type: ignore[no-any-return]


class TanhScore(Score):
    """Scores v·tanh(a + b): `a` from the query, `b` the prepared key."""

    strength: nn.Parameter

    @abstractmethod
    def ask(self, query: Queries) -> Float[Tensor, "b h q dk"]:
        """The query's part of the hidden layer."""

    def forward(self, query: Queries, keys: Keys, past: Past | None = None) -> Scores:
        asked = self.ask(query)
        same_width(asked, keys, type(self).__name__)
        hidden = (asked.unsqueeze(-2) + keys.unsqueeze(-3)).tanh()  # b h q k d
        return hidden @ self.strength


class Additive(TanhScore):
    """v·tanh(W q + U k + c). Bahdanau, Cho & Bengio 2015, A.1.2; the "perceptron" score is the same function.

    Bahdanau scores the decoder's *previous* state; which state is the query is the caller's choice.
    """

    def __init__(self, d_query: int, d_key: int, d_hidden: int) -> None:
        super().__init__()
        self.query = nn.Linear(d_query, d_hidden)
        self.key = nn.Linear(d_key, d_hidden, bias=False)
        self.strength = nn.Parameter(torch.empty(d_hidden).uniform_(-1, 1) * d_hidden**-0.5)

    def prepare(self, keys: Float[Tensor, "b h k d"]) -> Float[Tensor, "b h k dk"]:
        return _through(self.key, keys)

    def ask(self, query: Queries) -> Float[Tensor, "b h q dk"]:
        return _through(self.query, query)


class Concat(TanhScore):
    """v·tanh(W [q; k]) with one matrix. Luong, Pham & Manning 2015, "concat", with the v and tanh it needs."""

    def __init__(self, d_query: int, d_key: int, d_hidden: int) -> None:
        super().__init__()
        self.joint = nn.Linear(d_query + d_key, d_hidden, bias=False)
        self.d_query = d_query
        self.strength = nn.Parameter(torch.empty(d_hidden).uniform_(-1, 1) * d_hidden**-0.5)

    def prepare(self, keys: Float[Tensor, "b h k d"]) -> Float[Tensor, "b h k dk"]:
        return F.linear(keys, self.joint.weight[:, self.d_query :])

    def ask(self, query: Queries) -> Float[Tensor, "b h q dk"]:
        return F.linear(query, self.joint.weight[:, : self.d_query])


class LinearConcat(Score):
    """w·[q; k] as some lectures print it: a degenerate case, kept to show why it cannot work.

    The query's part is the same for every key, so softmax cancels it: the weights ignore the query.
    """

    def __init__(self, d_query: int, d_key: int) -> None:
        super().__init__()
        self.query = nn.Linear(d_query, 1, bias=False)
        self.key = nn.Linear(d_key, 1, bias=False)

    def prepare(self, keys: Float[Tensor, "b h k d"]) -> Float[Tensor, "b h k dk"]:
        return _through(self.key, keys)

    def forward(self, query: Queries, keys: Keys, past: Past | None = None) -> Scores:
        return _through(self.query, query) + keys.transpose(-2, -1)


class Leaky(Score):
    """LeakyReLU(a·q + c·k): the bend is what saves it from being `LinearConcat`. Veličković et al. 2018, eq. 3."""

    def __init__(self, d_query: int, d_key: int, heads: int = 1, slope: float = 0.2) -> None:
        super().__init__()
        self.slope = slope
        self.query = nn.Parameter(torch.randn(heads, d_query, 1) * d_query**-0.5)
        self.key = nn.Parameter(torch.randn(heads, d_key, 1) * d_key**-0.5)

    def prepare(self, keys: Float[Tensor, "b h k d"]) -> Float[Tensor, "b h k dk"]:
        return keys @ self.key

    def forward(self, query: Queries, keys: Keys, past: Past | None = None) -> Scores:
        return F.leaky_relu(query @ self.query + keys.transpose(-2, -1), self.slope)


class Location(Score):
    """W q, one row of W per place: what the query says of *where*, whatever is there. Luong et al. 2015, eq. 9.

    Row i scores the i-th key of the memory, so a memory can be at most `longest` keys long.
    """

    def __init__(self, d_query: int, longest: int) -> None:
        super().__init__()
        self.place = nn.Linear(d_query, longest, bias=False)

    def forward(self, query: Queries, keys: Keys, past: Past | None = None) -> Scores:
        longest = self.place.out_features
        if keys.shape[2] > longest:
            raise ValueError(
                f"location scores reach {longest} places and this memory has {keys.shape[2]} keys; "
                f"build it with longest={keys.shape[2]} or more, or use a score that looks at contents"
            )
        return _through(self.place, query)[..., : keys.shape[2]]


class Features(nn.Module, ABC):
    """A positive feature map φ, for which φ(q)·φ(k) stands in for exp(score)."""

    @abstractmethod
    def forward(self, x: Float[Tensor, "b h n d"]) -> Float[Tensor, "b h n f"]:
        """The features of queries or of prepared keys."""


class Kernel(Score):
    """log φ(q)·φ(k): under softmax the weights are φ(q)·φ(k) / Σ φ(q)·φ(k). Katharopoulos et al. 2020, eq. 5.

    The logarithm exists in the plain reading only; the fast one multiplies features, in linear time.
    """

    def __init__(self, features: Features) -> None:
        super().__init__()
        self.features = features

    def prepare(self, keys: Float[Tensor, "b h k d"]) -> Float[Tensor, "b h k dk"]:
        return self.features(keys)  # type: ignore[no-any-return]

    def forward(self, query: Queries, keys: Keys, past: Past | None = None) -> Scores:
        product = self.features(query) @ keys.transpose(-2, -1)
        return product.clamp_min(torch.finfo(product.dtype).tiny).log()  # type: ignore[no-any-return]


def same_width(query: Tensor, keys: Tensor, score: str) -> None:
    """A product needs equal widths; say what to use where they differ."""
    if query.shape[-1] != keys.shape[-1]:
        raise ValueError(
            f"{score} compares vectors of one width; got queries {query.shape[-1]} wide and keys {keys.shape[-1]} "
            f"wide: try General({query.shape[-1]}, {keys.shape[-1]}), or Heads, which projects both"
        )


def _through(layer: nn.Linear, x: Tensor) -> Tensor:
    """A linear layer, with an error a person can use where the width is not the one it was built for."""
    if x.shape[-1] != layer.in_features:
        raise ValueError(
            f"this score was built for vectors {layer.in_features} wide and got {x.shape[-1]}; "
            "check d_query and d_key against the tensors you pass"
        )
    return layer(x)  # type: ignore[no-any-return]
