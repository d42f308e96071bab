"""Labels for a row of items, or for a set: embed them, think about them, answer where something is asked."""

from __future__ import annotations

import math
from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attend.scope import Scope, everything
from regard.models.blocks import (
    FeedForward,
    NoPlaces,
    PostNorm,
    PreNorm,
    Rows,
    Sinusoids,
    embedding,
    linear,
)
from regard.models.dropout import Dropout
from regard.models.labeller_settings import (
    Attentive,
    CellModel,
    LabellerModel,
    LayersModel,
    PonderingModel,
    UniversalModel,
)
from regard.models.mechanisms import mechanism
from regard.models.pondering import Halting, Pace, Pondered, PonderingCell, Steps, StepsPerPlace
from regard.models.recurrence.cells import CELLS
from regard.models.transformer import EncoderLayer
from regard.models.universal import Depth, Recurrent, SeparableConvolution, Stack, Universal

Items = Int[Tensor, "b n w"] | Float[Tensor, "b n d"]
Asked = Int[Tensor, "b a"]


class Bags(nn.Module):
    """An item is a few words together: a fact, a column of digits, or one word. Word 0 is none."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.table, self.scale = embedding(words, width), math.sqrt(width)

    def forward(self, items: Int[Tensor, "b n w"]) -> Rows:
        """Their embeddings, summed and scaled by √width."""
        return self.table(items).sum(-2) * self.scale  # type: ignore[no-any-return]


class Pictures(nn.Module):
    """An item is a picture: two convolutions, each halving it, and a map of what is left."""

    def __init__(self, side: int, width: int, filters: int = 16) -> None:
        super().__init__()
        self.side, left = side, (side + 3) // 4
        self.first = nn.Conv2d(1, filters, 3, stride=2, padding=1)
        self.second = nn.Conv2d(filters, 2 * filters, 3, stride=2, padding=1)
        self.out = nn.Linear(2 * filters * left**2, width)

    def forward(self, items: Float[Tensor, "b n d"]) -> Rows:
        """What there is to say of each."""
        pictures = items.reshape(-1, 1, self.side, self.side)
        seen = F.relu(self.second(F.relu(self.first(pictures))))
        return self.out(seen.flatten(1)).view(*items.shape[:2], -1)  # type: ignore[no-any-return]


class Classes(nn.Module):
    """One of so many classes for each place that is asked."""

    def __init__(self, width: int, count: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.inner, self.norm, self.out = linear(width, width), nn.LayerNorm(width), linear(width, count)
        self.dropout = Dropout(dropout)

    def forward(self, states: Rows, asked: Asked) -> Float[Tensor, "b a c"]:
        """A score for each class."""
        return self.out(self.dropout(F.relu(self.norm(self.inner(asked_of(states, asked))))))  # type: ignore[no-any-return]


def asked_of(states: Rows, asked: Asked) -> Float[Tensor, "b a m"]:
    """The states of these places."""
    return states.gather(1, asked.unsqueeze(-1).expand(-1, -1, states.shape[-1]))


class Choice(nn.Module):
    """One of the places themselves, however many there are."""

    def __init__(self, width: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.each = Classes(width, 1, dropout)

    def forward(self, states: Rows, asked: Asked) -> Float[Tensor, "b 1 a"]:
        """A score for each place that is asked."""
        return self.each(states, asked).transpose(1, 2)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Labelled:
    """Scores of all answers, and how long each place was thought about."""

    scores: Float[Tensor, "b a c"]
    pondered: Pondered


class Labeller(nn.Module):
    """Items in, answers out. Without a sense of place in `depth` the items are a set, and answers know no order."""

    def __init__(self, inputs: nn.Module, depth: Depth, answers: nn.Module, dropout: float = 0.0) -> None:
        super().__init__()
        self.inputs, self.depth, self.answers, self.dropout = inputs, depth, answers, Dropout(dropout)

    def forward(self, items: Items, asked: Asked, scope: Scope = everything, at: int = 0) -> Labelled:
        """Answers at these places, the first item standing at place `at`."""
        found = self.depth(self.dropout(self.inputs(items)), scope, at)
        return Labelled(self.answers(found.states, asked), found)


def build_labeller(settings: LabellerModel, words: int, features: int, classes: int, side: int = 0) -> Labeller:
    """The model a recipe describes, for items of so many words or features, and so many classes (0: a choice).

    With a `side`, features are the pixels of pictures.
    """
    width = settings.width
    dropout = 0.0 if isinstance(settings, CellModel) else settings.dropout
    inputs = Bags(words, width) if words else Pictures(side, width) if side else nn.Linear(features, width)
    answers = Classes(width, classes, dropout) if classes else Choice(width, dropout)
    return Labeller(inputs, depth_of(settings), answers, dropout)


def depth_of(settings: LabellerModel) -> Depth:
    """Its layers, or what takes their place."""
    width = settings.width
    if isinstance(settings, CellModel):
        return Recurrent(PonderingCell(CELLS[settings.cell](width + 1, width), _halting(settings)))
    norm = nn.LayerNorm(width) if settings.norm == "pre" else nn.Identity()
    places = Sinusoids(width) if settings.places == "sinusoid" else NoPlaces()
    if isinstance(settings, LayersModel):
        return Stack([_layer(settings) for _ in range(settings.layers)], places, norm)
    times = Sinusoids(width) if settings.times else NoPlaces()
    pace = _halting(settings) if isinstance(settings, PonderingModel) else _steps(settings)
    return Universal(_layer(settings), pace, places, times, norm)


def _steps(settings: UniversalModel) -> Pace:
    return Steps(settings.steps) if settings.steps else StepsPerPlace()


def _halting(settings: PonderingModel | CellModel) -> Halting:
    size = CELLS[settings.cell].parts * settings.width if isinstance(settings, CellModel) else settings.width
    return Halting(size, settings.most, settings.slack, settings.eager)


def _layer(settings: Attentive) -> EncoderLayer:
    width, inner = settings.width, settings.feedforward

    def residual() -> nn.Module:
        return (PreNorm if settings.norm == "pre" else PostNorm)(width, settings.dropout)

    look = mechanism(settings.attention, d_model=width, heads=settings.heads, reach=settings.reach)
    after = (
        FeedForward(width, inner, F.relu)
        if settings.transition == "feedforward"
        else SeparableConvolution(width, inner)
    )
    return EncoderLayer(look, after, residual)
