"""Few-shot learning: in every episode characters nobody told of before are named after a few were shown."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attend.watch import watch
from regard.models.few_shot import FewShot, build_few_shot
from regard.models.sequence_settings import ImageModel, SnailModel
from regard.models.settings import LstmModel
from regard.tasks.drawn import HELD_OUT, Endless, Some
from regard.tasks.glyphs import Episodes, Glyphs, episodes, nearest, omniglot, strokes
from regard.tasks.sequence_settings import FewShotData
from regard.tasks.task import Loss
from regard.text.places import located


@dataclass(frozen=True)
class Shown:
    """Episodes as tensors."""

    support: Float[Tensor, "b s h w"]
    names: Int[Tensor, "b s"]
    queries: Float[Tensor, "b q h w"]
    right: Int[Tensor, "b q"]


class Naming(Endless):
    """Learn to name characters after a few were shown; tested on alphabets that were never seen."""

    drawn_by, looked_by = "learning:named", "looks:naming"
    examples = "episodes"
    best_by, best_is_highest = "right", True

    def __init__(self, data: FewShotData, model: SnailModel | LstmModel, images: ImageModel, seed: int) -> None:
        super().__init__(data.rows, seed)
        self.data, self.model, self.images = data, model, images

    @cached_property
    def divided(self) -> tuple[Glyphs, Glyphs]:
        """Alphabets to learn from, and those the best model is chosen by."""
        data = self.data
        found = (
            strokes(1, 5 * data.held_out_alphabets, 10, 20, data.side)
            if data.characters is None
            else omniglot(located(data.characters), data.side)
        )
        return found.divided(data.held_out_alphabets)

    @cached_property
    def unseen(self) -> Glyphs:
        """Alphabets that nothing was chosen by."""
        if self.data.test_characters is not None:
            return omniglot(located(self.data.test_characters), self.data.side)
        return strokes(2, 10, 10, 20, self.data.side) if self.data.characters is None else self.divided[1]

    def build(self) -> FewShot:
        data = self.data
        return build_few_shot(self.model, self.images, data.side, data.ways, data.shots)

    def about(self) -> str:
        data, learned = self.data, self.divided[0]
        where = "made of strokes" if data.characters is None else f"of {data.characters.name}"
        return f"{len(learned):,} characters {where}, {data.ways} ways, {data.shots} shots"

    def load(self, which: Some) -> Shown:
        data, rng = self.data, self.dice(which)
        shots, turns = int(rng.integers(1, data.shots + 1)), 4 if data.rotations else 1
        drawn = episodes(self.divided[0], rng, data.rows, data.ways, shots, data.queries, turns)
        return shown(drawn.some(which.first, which.after))

    def units(self, which: Some) -> int:
        return which.count * self.data.queries

    def loss(self, model: nn.Module, batch: Shown, player: str) -> Loss:
        """Nats of surprise at the right names, summed over queries; only the last step of an episode counts."""
        scores = cast(FewShot, model)(batch.support, batch.names, batch.queries)
        total = F.cross_entropy(scores.flatten(0, 1), batch.right.flatten(), reduction="sum")
        return Loss(total, {"loss": float(total.detach())})

    def measure(self, model: nn.Module) -> dict[str, float]:
        return self.scores(cast(FewShot, model), self.divided[1], 1, 100)

    def final(self, model: nn.Module) -> dict[str, dict[str, float]]:
        """Alphabets that were never seen, after one shot, two, ..."""
        data, few = self.data, cast(FewShot, model)
        found = {n: self.scores(few, self.unseen, n, data.held_out_rows) for n in range(1, data.shots + 1)}
        return {f"{data.ways}-way {n}-shot": figures for n, figures in found.items()}

    def scores(self, model: FewShot, glyphs: Glyphs, shots: int, count: int) -> dict[str, float]:
        """The share of queries named rightly, that of the nearest pixels, and of chance."""
        right, near, total = 0, 0, 0
        for first in range(0, count, 50):
            drawn = self.drawn(glyphs, shots, min(50, count - first), first)
            said = self.said(model, drawn)
            right, near = right + int((said == drawn.right).sum()), near + int((nearest(drawn) == drawn.right).sum())
            total += said.size
        return {"right": right / total, "nearest pixels": near / total, "chance": 1 / self.data.ways}

    def drawn(self, glyphs: Glyphs, shots: int, count: int, number: int = 0) -> Episodes:
        """Episodes that no training saw."""
        rng = np.random.default_rng((HELD_OUT, shots, number))
        return episodes(glyphs, rng, count, self.data.ways, shots, self.data.queries)

    def said(self, model: FewShot, drawn: Episodes) -> np.ndarray:
        """The name the model gives each query."""
        batch = shown(drawn)
        return model(batch.support, batch.names, batch.queries).argmax(-1).numpy()  # type: ignore[no-any-return]

    def looks(self, model: FewShot, drawn: Episodes) -> np.ndarray | None:
        """How much each query looked at each image shown, in the last attention block: b q s; None without one."""
        batch = shown(drawn)
        with watch(model) as seen:
            model(batch.support, batch.names, batch.queries)
        if not seen:
            return None
        last = seen[-1].weights[:, 0, -1, :-1]  # of the query, without itself
        return last.unflatten(0, drawn.right.shape).numpy()  # type: ignore[no-any-return]

    def samples(self, model: nn.Module) -> str:
        drawn = self.drawn(self.divided[1], 1, 4)
        said = self.said(cast(FewShot, model), drawn)
        return "".join(
            f"{' '.join(map(str, a))}\n  > {' '.join(map(str, b))}\n" for a, b in zip(drawn.right, said, strict=True)
        )


def shown(drawn: Episodes) -> Shown:
    """Episodes as tensors."""
    return Shown(
        torch.from_numpy(drawn.support),
        torch.from_numpy(drawn.names),
        torch.from_numpy(drawn.queries),
        torch.from_numpy(drawn.right),
    )
