"""Selections by chance, and what they promise on average."""

from __future__ import annotations

import torch

from regard import attend as A
from regard.attend.select import masked_softmax

SCORES = torch.tensor([[[[1.0, 0.0, 2.0, -1.0, 5.0]]]])
ALLOWED = torch.tensor([[[[True, True, True, True, False]]]])


def test_hard_draws_by_probability_and_tells_how_likely() -> None:
    torch.manual_seed(0)
    scores = SCORES.expand(20_000, 1, 1, 5)
    weights, log_prob = A.Hard()(scores, ALLOWED, scores)
    chances = masked_softmax(SCORES, ALLOWED).flatten()
    assert torch.allclose(weights.mean(0).flatten(), chances, atol=0.01)
    assert isinstance(log_prob, torch.Tensor)
    assert torch.allclose(log_prob.exp().flatten(), chances[weights.flatten(1).argmax(-1)], atol=1e-6)
    assert not weights[..., 4].any()


def test_hard_takes_the_likeliest_afterwards_and_is_certain() -> None:
    weights, log_prob = A.Hard().eval()(SCORES, ALLOWED, SCORES)
    assert weights.flatten().tolist() == [0, 0, 1, 0, 0]
    assert log_prob == 0.0


def test_a_blind_query_draws_nothing() -> None:
    nothing = torch.zeros(1, 1, 1, 5, dtype=torch.bool)
    scores = SCORES.clone().requires_grad_()
    for select in (A.Hard(), A.Gumbel(), A.StraightThrough(), A.Sparsemax(), A.TopK(2)):
        weights, log_prob = select(scores, nothing, scores)
        assert not weights.any()
        assert torch.as_tensor(log_prob).eq(0).all()


def test_reinforce_is_unbiased_and_a_baseline_quietens_it() -> None:
    """The mean estimate points along the soft gradient of a linear read-out; a baseline lowers its variance."""
    torch.manual_seed(0)
    values = torch.tensor([3.0, 4.0, 5.0, 3.5, 100.0])
    scores = SCORES.clone().requires_grad_()
    reward = (masked_softmax(scores, ALLOWED).flatten() * values).sum()
    (exact,) = torch.autograd.grad(reward, scores)

    def estimates(baseline: float) -> torch.Tensor:
        many = SCORES.expand(100_000, 1, 1, 5).clone().requires_grad_()
        weights, log_prob = A.Hard()(many, ALLOWED, many)
        earned = (weights.flatten(1) * values).sum(-1)
        assert isinstance(log_prob, torch.Tensor)
        return torch.autograd.grad(((earned - baseline) * log_prob.flatten()).sum(), many)[0].flatten(1)

    plain, calm = estimates(0.0), estimates(float(reward.detach()))
    for found in (plain, calm):
        assert torch.cosine_similarity(found.mean(0), exact.flatten(), dim=0) > 0.99
    assert plain.var(0).sum() / calm.var(0).sum() > 2


def test_cold_gumbel_draws_by_probability() -> None:
    torch.manual_seed(0)
    scores = SCORES.expand(20_000, 1, 1, 5)
    for select in (A.Gumbel(0.05), A.StraightThrough(0.05)):
        drawn = select(scores, ALLOWED, scores).weights.mean(0).flatten()
        assert torch.allclose(drawn, masked_softmax(SCORES, ALLOWED).flatten(), atol=0.02)


def test_straight_through_is_one_place_with_a_soft_gradient() -> None:
    scores = SCORES.clone().requires_grad_()
    select = A.StraightThrough(1.0).eval()
    weights = select(scores, ALLOWED, scores).weights
    assert weights.detach().flatten().tolist() == [0, 0, 1, 0, 0]
    (hard,) = torch.autograd.grad(weights[..., 0].sum(), scores)
    (soft,) = torch.autograd.grad(masked_softmax(scores, ALLOWED)[..., 0].sum(), scores)
    assert torch.allclose(hard, soft)


def test_sparsemax_gives_exact_zeros_and_sums_to_one() -> None:
    weights = A.Sparsemax()(torch.tensor([[[[1.0, 0.8, -1.0, 0.1]]]]), None, SCORES).weights.flatten()
    assert torch.allclose(weights, torch.tensor([0.6, 0.4, 0.0, 0.0]))


def test_local_p_reads_near_its_place_B13() -> None:
    """Weights vanish outside the window, and follow the Gaussian inside it."""
    torch.manual_seed(0)
    select = A.LocalP(6, reach=4)
    query, scores = torch.randn(1, 1, 3, 6), torch.zeros(1, 1, 3, 60)
    weights, place = select(scores, None, query).weights, select.centre(query, 60)
    away = (torch.arange(60) - place).abs()
    assert torch.equal(weights > 0, away <= 4)
    near = int((away[0, 0, 0] <= 4).sum())
    assert torch.allclose(
        weights[0, 0, 0], torch.where(away[0, 0, 0] <= 4, torch.exp(-(away[0, 0, 0] ** 2) / 8), 0) / near
    )
    gradient = torch.autograd.grad(weights.sum(), select.place.weight)[0]
    assert gradient.abs().sum() > 0  # the Gaussian teaches where to look


def test_queries_compete_for_keys() -> None:
    scores = torch.tensor([[[[4.0, 0.0, 0.0], [0.0, 4.0, 0.0]]]])
    weights = A.Competition()(scores, None, scores).weights
    assert torch.allclose(weights.sum(-1), torch.ones(1, 1, 2), atol=1e-5)
    assert weights[0, 0, 0, 0] > weights[0, 0, 0, 2] > weights[0, 0, 0, 1]
