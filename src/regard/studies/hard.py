"""Hard attention against soft: the same objective, one by its gradient, the other by drawing and being rewarded.

Xu et al. 2015: soft attention reads the mean of what there is, hard attention one place, drawn. With a linear
read-out both have the same expected reward, so the gradient of one is what the other's is on average. `regard study
hard --to docs/results` compares them on a one-layer problem, and how noisy the estimate is with a baseline and
without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.attend.mechanism import Attention
from regard.attend.score import General
from regard.attend.select import Hard, Softmax
from regard.studies import trial
from regard.studies.grid import At, Column, Found, Measured, Study, run
from regard.tasks.policy import cosine, moved, others, policy_loss, spread
from regard.train.fit import seed_of

KEYS, WIDTH, ROWS, DRAWS, RATE = 8, 8, 32, 4, 0.03
SAMPLES, CHUNK = 100_000, 20_000
EVERY = 10  # steps between points of a curve

Rewards = Float[Tensor, "b s"]
Baseline = Callable[[Rewards, float], Rewards | float]
BASELINES: dict[str, Baseline] = {
    "hard, no baseline": lambda reward, running: 0.0,
    "hard, running mean": lambda reward, running: running,
    "hard, mean of the other draws": lambda reward, running: others(reward),
}
"""What is taken off rewards, given those of several draws and the running mean of all before."""
SOFT = "soft"


@dataclass(frozen=True)
class Problem:
    """Keys, of which one is right, and a query that is a turned and noisy copy of it."""

    query: Float[Tensor, "b 1 d"]
    keys: Float[Tensor, "b k d"]
    right: Int[Tensor, " b"]

    @property
    def values(self) -> Float[Tensor, "b k 1"]:
        """What reading each place is worth: 1 where it is right."""
        return torch.nn.functional.one_hot(self.right, KEYS).float().unsqueeze(-1)


def drawn(rows: int, turn: Float[Tensor, "d d"], chance: torch.Generator) -> Problem:
    """So many problems."""
    keys = torch.randn(rows, KEYS, WIDTH, generator=chance)
    right = torch.randint(KEYS, (rows,), generator=chance)
    noise = 0.3 * torch.randn(rows, WIDTH, generator=chance)
    return Problem(((keys[torch.arange(rows), right] + noise) @ turn).unsqueeze(1), keys, right)


def rewarded(attention: Attention, problem: Problem, draws: int) -> tuple[Rewards, Rewards]:
    """What some draws of each problem read, and the log-probability of each."""
    query = problem.query.expand(-1, draws, -1)  # b s d: each query draws by itself
    look = attention.look(query, attention.memory(problem.keys, problem.values))
    assert isinstance(look.log_prob, Tensor)
    return look.context.squeeze(-1), look.log_prob.squeeze(1)


def estimates(at: At, seed: int) -> dict[str, float]:
    """The gradient with respect to one query: exactly, and by many draws."""
    chance = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed_of(seed))
    score = General(WIDTH, WIDTH)
    keys, query = torch.randn(1, KEYS, WIDTH, generator=chance), torch.randn(1, 1, WIDTH, generator=chance)
    values = 1 + torch.rand(1, KEYS, 1, generator=chance)  # all are worth something: a baseline has work to do
    soft, hard = Attention(score, Softmax()), Attention(score, Hard())
    asked = query.clone().requires_grad_()
    expected = soft(asked, soft.memory(keys, values)).sum()
    (exact,) = torch.autograd.grad(expected, asked)
    if at["estimator"] == SOFT:
        return {"cosine": 1.0, "variance": 0.0, "reward": float(expected.detach())}
    taken, gradients, rewards = BASELINES[at["estimator"]], list[Tensor](), list[Tensor]()
    for _ in range(SAMPLES // CHUNK):
        many = query.expand(CHUNK // DRAWS, DRAWS, -1).clone().requires_grad_()
        memory = hard.memory(keys.expand(len(many), -1, -1), values.expand(len(many), -1, -1))
        look = hard.look(many, memory)
        assert isinstance(look.log_prob, Tensor)
        reward = look.context.squeeze(-1).detach()
        loss = policy_loss(look.log_prob.squeeze(1), reward, taken(reward, float(expected.detach())))
        gradients.append(-torch.autograd.grad(loss, many)[0].flatten(0, 1))
        rewards.append(reward)
    found = torch.cat(gradients)
    return {
        "cosine": cosine(found.mean(0), exact.flatten()),
        "variance": spread(found),
        "reward": float(torch.cat(rewards).mean()),
    }


def learned(at: At, seed: int, steps: int) -> list[float]:
    """The chance of reading the right place as the score is learned, every few steps."""
    chance = torch.Generator().manual_seed(seed)
    turn = torch.linalg.qr(torch.randn(WIDTH, WIDTH, generator=chance))[0]
    torch.manual_seed(seed_of(seed))
    score = General(WIDTH, WIDTH)
    soft, hard = Attention(score, Softmax()), Attention(score, Hard())
    rule, running, curve = torch.optim.Adam(score.parameters(), RATE), 0.0, list[float]()
    for step in range(steps):
        problem = drawn(ROWS, turn, chance)
        expected = soft(problem.query, soft.memory(problem.keys, problem.values)).mean()
        if step % EVERY == 0:
            curve.append(float(expected.detach()))
        if at["estimator"] == SOFT:
            loss = -expected
        else:
            reward, log_prob = rewarded(hard, problem, DRAWS)
            loss = policy_loss(log_prob, reward, BASELINES[at["estimator"]](reward, running)) / reward.numel()
            running = moved(running, reward)
        rule.zero_grad()
        loss.backward()
        rule.step()
    return curve


def measured(at: At, seed: int, steps: int) -> Measured:
    """How good the estimate is, and what is learned by it."""
    curve = learned(at, seed, steps)
    return Measured(estimates(at, seed) | {"learned": float(np.mean(curve[-5:]))}, curve)


def goals(found: Found) -> list[str]:
    """What was aimed at and what was found."""
    plain, *better = (found.mean("variance", estimator=name) for name in BASELINES)
    least = min(min(found.values("cosine", {"estimator": name})) for name in BASELINES)
    return [
        trial.reached("cosine of the estimated mean gradient with the soft one, the least", least, 0.99),
        trial.reached("variance without a baseline over that with the running mean", plain / better[0], 2),
        trial.reached("variance without a baseline over that with the mean of other draws", plain / better[1], 2),
    ]


def draw(found: Found, path: Path) -> None:
    """Variance as bars, and what is learned as curves."""
    figure = trial.figure_of(10, 3.6)
    left, right = figure.subplots(1, 2)
    inks = dict(zip((SOFT, *BASELINES), ("black", trial.ORANGE, trial.BLUE, "#047857"), strict=True))
    for place, name in enumerate(BASELINES):
        values = found.values("variance", {"estimator": name})
        left.bar(place, np.mean(values), color=inks[name], width=0.6)
        left.plot([place] * len(values), values, ".", color="black", markersize=4)
    left.set_xticks(range(len(BASELINES)), [name.removeprefix("hard, ") for name in BASELINES], fontsize=8)
    left.set(title="Variance of one draw's gradient", ylabel="summed over the query")
    for name, ink in inks.items():
        curve = found.seen(estimator=name)
        right.plot(EVERY * np.arange(len(curve)), curve, color=ink, label=name)
    right.set(title="Chance of reading the right place", xlabel="updates", ylim=(0, 1))
    right.legend(frameon=False, fontsize=8, loc="lower right")
    trial.plain(left, right)
    figure.savefig(path, dpi=130)


STUDY = Study(
    name="hard",
    title="Hard attention and soft",
    about=(
        f"One query, {KEYS} keys, a bilinear score, and a reward for what is read: soft attention has its exact "
        f"gradient, hard attention draws a place and is rewarded (REINFORCE). `cosine` compares the mean of "
        f"{SAMPLES:,} drawn gradients with the exact one, `variance` is that of a single draw. Then the score is "
        f"learned for {{steps}} updates of {ROWS} problems, {DRAWS} draws of each, from a reward of 1 for the right "
        "place; `learned` is the chance of reading it in the end. The running mean stands at the expected reward "
        "where the variance is measured, as it does after a while."
    ),
    axes={"estimator": (SOFT, *BASELINES)},
    steps=400,
    seeds=3,
    measure=measured,
    columns=(
        Column("cosine", "cosine", digits=4),
        Column("variance", "variance", digits=4),
        Column("mean reward", "reward", digits=3),
        Column("learned %", "learned", times=100),
    ),
    goals=goals,
    draw=draw,
)

main = partial(run, STUDY)


if __name__ == "__main__":
    main()
