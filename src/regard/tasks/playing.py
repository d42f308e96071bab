"""Playing bandits: a learner that is told what it pulled and what that paid, trained by pay or by a teacher."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.models.sequence_settings import SnailModel
from regard.models.settings import LstmModel
from regard.models.snail import build_learner
from regard.tasks.bandits import best_possible, indices, known, played
from regard.tasks.drawn import HELD_OUT, Endless, Some
from regard.tasks.policy import policy_loss, to_go
from regard.tasks.sequence_settings import BanditData
from regard.tasks.task import Loss


@dataclass(frozen=True)
class Games:
    """Chances of every arm, and the dice: a pull pays if its chance is above the number of that game and pull."""

    chances: Float[Tensor, "b a"]
    dice: Float[Tensor, "b t"]


@dataclass(frozen=True)
class Trail:
    """What was pulled and what it paid."""

    pulled: Int[Tensor, "b t"]
    paid: Float[Tensor, "b t"]


class Playing(Endless):
    """Learn to play bandits with even chances; new ones in every game."""

    drawn_by, looked_by = "learning:played", "looks:playing"
    examples = "games"
    best_by, best_is_highest = "reward", True

    def __init__(self, data: BanditData, model: SnailModel | LstmModel, seed: int) -> None:
        super().__init__(data.rows, seed)
        self.data, self.model = data, model

    def build(self) -> nn.Module:
        return build_learner(self.model, self.data.arms + 2, self.data.arms, self.data.pulls)

    def about(self) -> str:
        return f"fresh bandits of {self.data.arms} arms and {self.data.pulls} pulls, {self.data.rows} a batch"

    def load(self, which: Some) -> Games:
        games = self.drawn((self.seed, which.epoch, which.batch), self.data.rows)
        return Games(games.chances[which.first : which.after], games.dice[which.first : which.after])

    def drawn(self, seed: Sequence[int], count: int) -> Games:
        """So many games."""
        rng = np.random.default_rng(seed)
        chances, dice = rng.random((count, self.data.arms)), rng.random((count, self.data.pulls))
        return Games(torch.from_numpy(chances.astype(np.float32)), torch.from_numpy(dice.astype(np.float32)))

    def loss(self, model: nn.Module, batch: Games, player: str) -> Loss:
        """Play, then learn from what the pulls were worth, or from a teacher. Logged: pay that was missed."""
        trail = self.play(model, batch)
        log_prob = model(told(trail, self.data.arms)).log_softmax(-1)
        if self.data.teacher == "pay":  # likelier becomes what paid more than the arms do on average
            usual = batch.chances.mean(1, keepdim=True) * torch.arange(self.data.pulls, 0, -1)
            chosen = log_prob.gather(-1, trail.pulled.unsqueeze(-1)).squeeze(-1)
            worth = batch.chances.gather(1, trail.pulled)  # on average; what it paid is that and luck
            total = policy_loss(chosen, to_go(worth), usual)
        else:
            total = -(taught(trail, self.data.arms) * log_prob).sum()
        missed = batch.chances.max(1).values * self.data.pulls - trail.paid.sum(1)
        return Loss(total, {"loss": float(missed.sum())})

    @torch.no_grad()
    def play(self, model: nn.Module, games: Games, best: bool = False) -> Trail:
        """One game after the other, drawn from what the model would do, or its `best` guesses."""
        rows = torch.arange(len(games.chances))
        pulled, paid = torch.zeros(games.dice.shape, dtype=torch.long), torch.zeros(games.dice.shape)
        for at in range(games.dice.shape[1]):
            scores = model(told(Trail(pulled[:, : at + 1], paid[:, : at + 1]), self.data.arms))[:, -1]
            drawn = scores.argmax(-1) if best else scores.softmax(-1).multinomial(1).squeeze(-1)
            pulled[:, at] = drawn
            paid[:, at] = (games.dice[:, at] < games.chances[rows, drawn]).float()
        return Trail(pulled, paid)

    def measure(self, model: nn.Module) -> dict[str, float]:
        return {"reward": float(self.rewards(model, 2000).sum(1).mean())}

    def rewards(self, model: nn.Module, count: int) -> np.ndarray:
        """What the model's best guesses win at each pull of held-out games."""
        return self.play(model, self.drawn((HELD_OUT, 0), count), best=True).paid.numpy()

    def final(self, model: nn.Module) -> dict[str, dict[str, float]]:
        """What is won in a game, by the model and by known ways to play the same bandits."""
        data = self.data
        found = {"reward": float(self.rewards(model, data.held_out_rows).sum(1).mean())}
        found |= {name: float(won.sum(1).mean()) for name, won in self.others().items()}
        best = best_possible(data.arms, data.pulls)
        found |= {} if best is None else {"best possible": best}
        return {f"{data.arms} arms, {data.pulls} pulls": found}

    def others(self) -> dict[str, np.ndarray]:
        """What known ways to play win at each pull of the held-out games."""
        chances = self.drawn((HELD_OUT, 0), self.data.held_out_rows).chances.double().numpy()
        ways = known(self.data.pulls).items()
        return {
            name: played(way, chances, self.data.pulls, np.random.default_rng((HELD_OUT, 1))) for name, way in ways
        }

    def samples(self, model: nn.Module) -> str:
        games = self.drawn((HELD_OUT, 1), 3)
        trail = self.play(model, games, best=True)
        lines = []
        for chances, pulled, paid in zip(games.chances, trail.pulled.tolist(), trail.paid.tolist(), strict=True):
            what = " ".join(f"{arm}{'+' if won else '-'}" for arm, won in zip(pulled, paid, strict=True))
            lines.append(f"{' '.join(f'{chance:.2f}' for chance in chances.tolist())}\n  > {what}\n")
        return "".join(lines)


def taught(trail: Trail, arms: int) -> Float[Tensor, "b t a"]:
    """What Gittins' index would have pulled at each step of these games: the arm, or evenly those that tie."""
    pulls = trail.pulled.shape[1]
    each = F.one_hot(trail.pulled, arms)
    won = each * trail.paid.long().unsqueeze(-1)
    wins, losses = (found.cumsum(1) - found for found in (won, each - won))  # before the pull
    left = torch.arange(pulls, 0, -1).view(1, -1, 1)
    worth = torch.from_numpy(indices(pulls))[left, wins, losses]
    best = (worth == worth.max(-1, keepdim=True).values).float()
    return best / best.sum(-1, keepdim=True)


def told(trail: Trail, arms: int) -> Float[Tensor, "b t d"]:
    """What a learner knows before each pull: the arm pulled before and what it paid; at first only that it begins."""
    before = torch.cat((F.one_hot(trail.pulled, arms).float(), trail.paid.unsqueeze(-1)), -1)[:, :-1]
    begins = torch.zeros(len(before), trail.pulled.shape[1], 1)
    begins[:, 0] = 1
    return torch.cat((F.pad(before, (0, 0, 1, 0)), begins), -1)
