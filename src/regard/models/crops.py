"""What grows in a field, from how it looked over the year: dates look at dates. Rußwurm & Körner 2020.

The paper's encoder: a map of each date's bands, places as waves, self-attention, the largest of every feature over
time, a class. Its norm of the input over bands is left out: of a single band it would leave nothing.
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attend.scope import everything
from regard.models.blocks import FeedForward, PreNorm, Sinusoids, linear
from regard.models.crop_settings import CropModel
from regard.models.mechanisms import mechanism
from regard.models.transformer import EncoderLayer


class CropReader(nn.Module):
    """Series in, a score for each crop out."""

    def __init__(self, bands: int, layers: list[EncoderLayer], width: int, crops: int) -> None:
        super().__init__()
        self.bands, self.places = linear(bands, width), Sinusoids(width)
        self.layers, self.norm, self.crops = nn.ModuleList(layers), nn.LayerNorm(width), linear(width, crops)

    def forward(self, series: Float[Tensor, "b t d"]) -> Float[Tensor, "b c"]:
        """A score for each crop."""
        x = self.bands(series) + self.places(series.shape[1], 0)
        for layer in self.layers:
            x = layer(x, everything)
        return self.crops(self.norm(x).amax(1))  # type: ignore[no-any-return]


def build_crop_reader(settings: CropModel, bands: int, crops: int) -> CropReader:
    """The model a recipe describes."""
    width = settings.width
    layers = [
        EncoderLayer(
            mechanism(settings.attention, d_model=width, heads=settings.heads, d_query=width, d_key=width),
            FeedForward(width, settings.feedforward, F.relu),
            lambda: PreNorm(width, settings.dropout),
        )
        for _ in range(settings.layers)
    ]
    return CropReader(bands, layers, width, crops)
