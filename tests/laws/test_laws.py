"""Every law over every paper of the catalogue and every score x selection x scope.

A mechanism added to the catalogue, a part added to the grid, is held to all of them without a line here.
"""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard import attend as A
from regard.attend.laws import LAWS, Law, LawBroken, Subject, check
from tests.laws.grid import D, composition, compositions, papers, some_compositions

PAPERS, GRID, SOME = list(papers()), list(compositions()), list(some_compositions())


def bundles(subjects: list[Subject], size: int = 100) -> list[Any]:
    """The grid in bundles: thousands of tests of a millisecond would be spent in the runner."""
    groups = [subjects[i : i + size] for i in range(0, len(subjects), size)]
    return [pytest.param(group, marks=pytest.mark.unchecked, id=f"{group[0]}...") for group in groups]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("subject", PAPERS, ids=str)
def test_papers(subject: Subject, law: Law) -> None:
    law(subject)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("group", bundles(GRID))
def test_grid(group: list[Subject], law: Law) -> None:
    for subject in group:
        law(subject)


@pytest.mark.parametrize("group", bundles(SOME, 40))
def test_gradients_in_double_precision(group: list[Subject]) -> None:
    for subject in group:
        if any(word in subject.name for word in ("hard", "straight_through")):
            continue  # one has no gradient by definition, the other's is not that of its value
        mechanism = subject.build(torch.float64)
        rows = (subject.queries(3, 1, torch.float64), subject.keys(4, 1, torch.float64))

        def reading(query: Tensor, keys: Tensor, mechanism: Any = mechanism) -> Tensor:
            return mechanism.look(query, mechanism.memory(keys, scope=A.lengths([3]))).context

        leaves = [x.requires_grad_() for x in rows]
        assert torch.autograd.gradcheck(reading, leaves, eps=1e-6, atol=1e-5, fast_mode=True), subject


@pytest.mark.parametrize("subject", [s for s in PAPERS if s.name not in ("xu_hard", "jang")], ids=str)
def test_training_without_dropout_equals_evaluation(subject: Subject) -> None:
    mechanism, query, memory = subject.setting()
    asked = () if isinstance(mechanism, A.Pooling) else (query,)
    with torch.no_grad():
        evaluated = mechanism(*asked, memory)
        assert torch.equal(mechanism.train()(*asked, memory), evaluated)


def test_a_look_is_free_once_nobody_holds_it() -> None:
    for subject in PAPERS:
        mechanism, query, memory = subject.setting()
        with A.watch(mechanism) as seen:
            mechanism(*(() if isinstance(mechanism, A.Pooling) else (query,)), memory)
        kept = weakref.ref(seen[0].look)
        del seen
        gc.collect()
        assert kept() is None, subject


@pytest.mark.parametrize("score", ["scaled", "additive", "kernel_elu"])
def test_half_precision_reads_finite_and_close(score: str) -> None:
    subject = composition(score, "softmax", "causal")
    mechanism, query, memory = subject.setting()
    low, rough, coarse = subject.setting(torch.bfloat16)
    got = low(rough, coarse).detach()
    assert got.dtype == torch.bfloat16
    assert float((got.float() - mechanism(query, memory).detach()).abs().max()) < 0.1


class Forgetful(A.Select):
    """Forgets who may see what."""

    def forward(self, scores: Tensor, allowed: Any, query: Tensor, past: Any = None) -> A.Selection:
        return A.Selection(scores.softmax(-1), 0.0)


class Impatient(A.Score):
    """Looks at how many queries came together."""

    def forward(self, query: Tensor, keys: Tensor, past: Any = None) -> Tensor:
        return query @ keys.transpose(-2, -1) / query.shape[2]


class Random(A.Score):
    """Keeps something outside its state."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = torch.rand(())

    def forward(self, query: Tensor, keys: Tensor, past: Any = None) -> Tensor:
        return query @ keys.transpose(-2, -1) * self.factor


@pytest.mark.parametrize(
    ("make", "broken"),
    [
        (lambda: A.Attention(A.ScaledDot(), Forgetful()), "apart where"),
        (lambda: A.Attention(Impatient()), "apart where"),
        (lambda: A.Attention(Random()), "a loaded copy answers differently"),
        (
            lambda: A.Attention(A.ScaledDot(), scope=A.Scope("all", lambda b, h, q, k: k > -9, ahead=0)),
            "changed the past",
        ),
    ],
)
def test_a_law_that_is_broken_is_noticed(make: Any, broken: str) -> None:
    with pytest.raises(LawBroken, match=f"this mechanism: .*{broken}"):
        check(make, d_query=D, d_key=D)


def test_what_is_ranged_over() -> None:
    names = [subject.name for subject in PAPERS + GRID]
    assert len(names) == len(set(names)) > 1400
    assert {subject.name for subject in PAPERS} == set(A.papers.CATALOGUE)
    assert all(isinstance(subject.make(), nn.Module) for subject in PAPERS)
