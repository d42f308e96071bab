"""Ways to play bandits, against every game that can happen."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from regard.models.sequence_settings import SnailModel
from regard.tasks.bandits import best_possible, gittins, greedy, indices, known, played, thompson, ucb1
from regard.tasks.playing import Playing, Trail, taught, told
from regard.tasks.policy import policy_loss, to_go
from regard.tasks.sequence_settings import BanditData

RNG = np.random.default_rng


def all_plans(arms: int, pulls: int) -> float:
    """The best mean pay, arm by arm in order: every choice after every history, no symmetry used."""

    @cache
    def value(wins: tuple[int, ...], losses: tuple[int, ...], left: int) -> float:
        if left == 0:
            return 0.0
        found = []
        for arm in range(arms):
            chance = (wins[arm] + 1) / (wins[arm] + losses[arm] + 2)
            won = tuple(n + (i == arm) for i, n in enumerate(wins))
            lost = tuple(n + (i == arm) for i, n in enumerate(losses))
            found.append(chance * (1 + value(won, losses, left - 1)) + (1 - chance) * value(wins, lost, left - 1))
        return max(found)

    return value((0,) * arms, (0,) * arms, pulls)


@pytest.mark.parametrize(("arms", "pulls"), [(1, 4), (2, 2), (2, 6), (3, 5)])
def test_the_best_possible_is_that_of_all_plans(arms, pulls):
    found = best_possible(arms, pulls)
    assert found == pytest.approx(all_plans(arms, pulls))


def test_the_best_possible_by_hand_and_where_it_is_not_looked_for():
    # one pull: any arm, 1/2; two pulls of two arms: stay after a win (2/3), change after a loss (1/2)
    assert best_possible(2, 1) == pytest.approx(0.5)
    assert best_possible(2, 2) == pytest.approx(0.5 + 0.5 * 2 / 3 + 0.5 * 0.5)
    assert best_possible(5, 10) == pytest.approx(6.66, abs=0.005)
    assert best_possible(10, 500) is None


def test_known_ways_win_what_they_should():
    chances = RNG(1).random((6000, 5))
    won = {name: played(way, chances, 10, RNG(2)).sum(1).mean() for name, way in known(10).items()}
    best = best_possible(5, 10)
    assert best is not None
    assert won["random"] == pytest.approx(5.0, abs=0.1)
    assert won["gittins"] == pytest.approx(best, abs=0.1)  # the best, but for chance
    assert won["thompson"] > won["random"] + 0.5
    assert won["gittins"] >= max(won["thompson"], won["ucb1"], won["epsilon-greedy"]) - 0.02
    assert max(won.values()) < best + 0.1


def test_an_index_is_above_the_mean_and_falls_to_it_at_the_last_pull():
    table = indices(6)
    for wins, losses in [(0, 0), (1, 0), (0, 2), (2, 1)]:
        mean = (wins + 1) / (wins + losses + 2)
        by_left = [table[left, wins, losses] for left in range(1, 6 - wins - losses + 1)]
        assert by_left[0] == pytest.approx(mean, abs=1e-3)
        assert all(later >= sooner - 1e-9 for sooner, later in pairwise(by_left))
    # two pulls left, nothing known: p(1 + max(m₁, λ)) + q·max(m₀, λ) = 2λ at λ = 5/9
    assert table[2, 0, 0] == pytest.approx(5 / 9, abs=1e-3)


def test_single_choices():
    wins, losses = np.array([[3.0, 0, 0]]), np.array([[0.0, 0, 4]])
    assert greedy(RNG(0), wins, losses, 1).tolist() == [0]
    assert ucb1(RNG(0), wins, losses, 1).tolist() == [1], "an arm never pulled comes first"
    assert gittins(8)(RNG(0), wins, losses, 1).tolist() == [0]
    often = [int(thompson(RNG(seed), wins, losses, 1)[0]) for seed in range(200)]
    assert 0.6 < np.mean(np.array(often) == 0) < 0.95


def test_what_a_learner_is_told_is_what_was_before():
    trail = Trail(torch.tensor([[2, 0, 1]]), torch.tensor([[1.0, 0.0, 1.0]]))
    assert told(trail, 3)[0].tolist() == [[0, 0, 0, 0, 1], [0, 0, 1, 1, 0], [1, 0, 0, 0, 0]]
    assert to_go(trail.paid).tolist() == [[2, 1, 1]]


def test_a_teacher_says_what_the_index_would_have_pulled():
    """In every state of games played at random, arm by arm, the same as the way to play."""
    rng = RNG(3)
    pulled, paid = rng.integers(0, 3, (20, 6)), rng.integers(0, 2, (20, 6))
    found = taught(Trail(torch.from_numpy(pulled), torch.from_numpy(paid).float()), 3)
    wins, losses = np.zeros((20, 3), int), np.zeros((20, 3), int)
    for at in range(6):
        worth = indices(6)[6 - at, wins, losses]
        right = worth == worth.max(1, keepdims=True)
        np.testing.assert_allclose(found[:, at].numpy(), right / right.sum(1, keepdims=True), atol=1e-6)
        assert all(right[np.arange(20), gittins(6)(rng, wins, losses, 6 - at)])
        wins[np.arange(20), pulled[:, at]] += paid[:, at]
        losses[np.arange(20), pulled[:, at]] += 1 - paid[:, at]


def test_the_mean_of_the_estimate_is_the_exact_gradient():
    """One pull of three arms: E[R] = Σ p_a softmax(s)_a, whose gradient is known."""
    torch.manual_seed(0)
    chances, scores = torch.tensor([0.2, 0.5, 0.9]), torch.tensor([0.3, -0.2, 0.1], requires_grad=True)
    (exact,) = torch.autograd.grad(-(scores.softmax(0) * chances).sum(), scores)
    arms = scores.softmax(0).detach().multinomial(200_000, replacement=True)
    paid = (torch.rand(len(arms)) < chances[arms]).float()
    spreads = []
    for baseline in (0.0, 0.5):
        log_prob = scores.log_softmax(0)[arms]
        (found,) = torch.autograd.grad(policy_loss(log_prob, paid, baseline) / len(arms), scores)
        assert torch.cosine_similarity(found, exact, 0) > 0.99
        torch.testing.assert_close(found, exact, atol=4e-3, rtol=0)
        spreads.append(float(((paid - baseline) ** 2).mean()))
    assert spreads[1] < spreads[0]


def test_luck_teaches_nothing():
    """The same pulls of the same arms: whether they happened to pay or not, the loss is of what they are worth."""
    here = Playing(BanditData(arms=3, pulls=4, rows=12), SnailModel(width=4, key=4, value=4, blocks=1), 1)
    games = here.load(here.batches(0)[0])
    losses = []
    for dice in (torch.zeros_like(games.dice), torch.ones_like(games.dice)):  # every pull pays, none does
        torch.manual_seed(0)
        losses.append(here.loss(Deaf(3), replace(games, dice=dice), "model"))
    assert losses[0].total == losses[1].total
    assert losses[0].figures["loss"] < losses[1].figures["loss"]


class Deaf(nn.Module):
    """Plays what it prefers, whatever it is told."""

    def __init__(self, arms: int) -> None:
        super().__init__()
        self.liked = nn.Parameter(torch.linspace(0, 1, arms))

    def forward(self, told: torch.Tensor) -> torch.Tensor:
        return self.liked.expand(*told.shape[:2], -1)


def test_a_batch_is_the_same_whenever_it_is_drawn_and_parts_are_the_whole():
    here = Playing(BanditData(arms=3, pulls=4, rows=12), SnailModel(width=4, key=4, value=4, blocks=1), 1)
    which = here.batches(1)[3]
    whole = here.load(which)
    parts = [here.load(part) for part in here.split(which, 5)]
    assert torch.equal(torch.cat([part.chances for part in parts]), whole.chances)
    assert torch.equal(torch.cat([part.dice for part in parts]), whole.dice)
    assert sum(map(here.units, here.split(which, 5))) == 12


@pytest.mark.parametrize("teacher", ["pay", "gittins"])
def test_it_learns_to_stay_with_what_pays(teacher):
    torch.manual_seed(1)
    data = BanditData(arms=2, pulls=5, rows=128, teacher=teacher)
    here = Playing(data, SnailModel(width=8, key=8, value=8, blocks=1), 1)
    model = here.build()
    rule = torch.optim.Adam(model.parameters(), 0.02)
    for which in here.batches(0)[:60]:
        rule.zero_grad()
        (here.loss(model, here.load(which), "model").total / 128).backward()
        rule.step()
    found = next(iter(here.final(model.eval()).values()))
    assert found["random"] == pytest.approx(2.5, abs=0.1)
    assert found["reward"] > 2.75
    assert all(reward < found["best possible"] + 0.05 for reward in found.values())
    assert found["gittins"] == pytest.approx(found["best possible"], abs=0.05)
    assert here.samples(model).count(">") == 3
