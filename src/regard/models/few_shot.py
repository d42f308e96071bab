"""Naming images after having been shown a few: a small convolutional network sees, a learner over time remembers."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.models.sequence_settings import ImageModel, SnailModel
from regard.models.settings import LstmModel
from regard.models.snail import build_learner


class Sight(nn.Module):
    """An image as a vector: convolutions of 3 × 3, each followed by a norm, ReLU and pooling.

    Norms are over groups of an image's own channels, not over the batch: what an image becomes depends on nothing but
    the image.
    """

    def __init__(self, settings: ImageModel, side: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = 1
        for _ in range(settings.convolutions):
            layers += [nn.Conv2d(channels, settings.filters, 3, padding=1)]
            layers += [nn.GroupNorm(settings.groups, settings.filters), nn.ReLU()]
            layers += [nn.MaxPool2d(2, ceil_mode=True)] if side > 1 else []
            channels, side = settings.filters, (side + 1) // 2
        self.layers = nn.Sequential(*layers)
        self.out = nn.Linear(channels * side * side, settings.width)

    def forward(self, images: Float[Tensor, "*n s s"]) -> Float[Tensor, "*n m"]:
        """The vector of each image."""
        found = self.layers(images.flatten(0, -3).unsqueeze(1))
        return self.out(found.flatten(1)).unflatten(0, images.shape[:-2])  # type: ignore[no-any-return]


class FewShot(nn.Module):
    """Pairs of image and name, then an image: what is its name? Every query is an experience of its own.

    What counts is how an image differs from the others that were shown: their mean is taken off, as batch
    normalisation would, but within an episode, so that an episode alone is what it is among others. To a fresh
    network all images are nearly the same (the cosine of any two is about 0.9), and without this it learns nothing
    for thousands of steps.
    """

    def __init__(self, sight: Sight, learner: nn.Module, ways: int) -> None:
        super().__init__()
        self.sight, self.learner, self.ways = sight, learner, ways
        self.norm = nn.LayerNorm(sight.out.out_features)

    def forward(
        self, support: Float[Tensor, "b s h w"], names: Int[Tensor, "b s"], queries: Float[Tensor, "b q h w"]
    ) -> Float[Tensor, "b q n"]:
        """Scores of the names of each query."""
        seen, new = self.sight(support), self.sight(queries)
        middle = seen.mean(1, keepdim=True)
        told = torch.cat((self.norm(seen - middle), F.one_hot(names, self.ways).to(seen.dtype)), -1)
        asked = F.pad(self.norm(new - middle), (0, self.ways))  # its name is not told
        count = queries.shape[1]
        steps = torch.cat((told.unsqueeze(1).expand(-1, count, -1, -1), asked.unsqueeze(2)), 2)  # b q s+1 d
        return self.learner(steps.flatten(0, 1))[:, -1].unflatten(0, (-1, count))  # type: ignore[no-any-return]


def build_few_shot(settings: SnailModel | LstmModel, images: ImageModel, side: int, ways: int, shots: int) -> FewShot:
    """The model a recipe describes."""
    learner = build_learner(settings, images.width + ways, ways, ways * shots + 1)
    return FewShot(Sight(images, side), learner, ways)
