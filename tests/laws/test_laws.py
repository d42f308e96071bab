"""Laws that hold for every mechanism: each composition of the grid and each paper of the catalogue.

A mechanism added to the catalogue, a score, a selection or a scope added to the grid is tested by all of them.
"""

from __future__ import annotations

import copy
import gc
import weakref
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard import attend as A
from tests.laws.grid import Case, call, composition, compositions, look, papers, scope_of, some_compositions

N = 7  # keys, and queries where a mechanism looks at itself
PAPERS = list(papers())
GRID = list(compositions())
SOME = list(some_compositions())
# Exceptions that stand in the docstring of the part: queries that compete cannot be asked one by one.
COMPETING = ("competition", "locatello")


def each(grid: list[Case], size: int = 50) -> Any:
    """Every paper, and the grid in bundles: thousands of tests of a millisecond would be spent in the runner."""
    bundles = [tuple(grid[i : i + size]) for i in range(0, len(grid), size)]
    return pytest.mark.parametrize(
        "bundle",
        [*((case,) for case in PAPERS), *(pytest.param(b, marks=pytest.mark.grid) for b in bundles)],
        ids=lambda bundle: f"{bundle[0]}..." if len(bundle) > 1 else str(bundle[0]),
    )


def close(got: Tensor, expected: Tensor, case: Case, tolerance: float = 2e-6) -> None:
    assert torch.isfinite(got).all(), case
    scale = max(1.0, float(expected.detach().abs().max()))
    worst = float((got - expected).detach().abs().max())
    assert worst <= tolerance * scale, f"{case}: {worst:.2e} apart"


def setting(case: Case, n: int = N, dtype: torch.dtype = torch.float32, **more: Any) -> tuple[Any, Tensor, A.Memory]:
    """A mechanism, its queries, and a memory with some padding."""
    mechanism = case.build(dtype)
    query, rows = case.rows(2, N, 11, dtype), case.rows(2, n, 12, dtype)
    return mechanism, query, mechanism.memory(rows, scope=A.lengths([n, n - 3]), **more)


@each(GRID)
def test_the_fast_reading_equals_the_plain_one(bundle: tuple[Case, ...]) -> None:
    for case in bundle:
        mechanism, query, memory = setting(case)
        with torch.no_grad():
            close(call(mechanism, query, memory), look(mechanism, query, memory).context, case)


@each(SOME)
def test_gradients_of_the_fast_reading_equal_those_of_the_plain_one(bundle: tuple[Case, ...]) -> None:
    for case in bundle:
        mechanism = case.build(torch.float64)
        gradients = []
        for reading in (lambda q, m, f=mechanism: look(f, q, m).context, lambda q, m, f=mechanism: call(f, q, m)):
            query = case.rows(2, N, 11, torch.float64).requires_grad_()
            rows = case.rows(2, N, 12, torch.float64).requires_grad_()
            mechanism.zero_grad()
            memory = mechanism.memory(rows, scope=A.lengths([N, 0]))
            context = reading(query, memory)
            (context * torch.linspace(-1, 1, context.numel(), dtype=context.dtype).view_as(context)).sum().backward()
            leaves = [query, rows, *mechanism.parameters()]
            gradients.append([torch.zeros_like(x) if x.grad is None else x.grad.clone() for x in leaves])
        for plain, fast in zip(*gradients, strict=True):
            close(fast, plain, case, 1e-9)


@each(GRID)
def test_padding_never_changes_the_answer(bundle: tuple[Case, ...]) -> None:
    for case in bundle:
        mechanism, query = case.build(), case.rows(2, N, 11)
        rows, garbage = case.rows(2, N, 12), case.rows(2, 3, 13) * 100
        with torch.no_grad():
            short = look(mechanism, query, mechanism.memory(rows))
            padded = mechanism.memory(torch.cat((rows, garbage), -2), scope=A.lengths([N, N]))
            long = look(mechanism, query, padded)
            close(long.context, short.context, case)
            close(long.weights[..., : short.weights.shape[-1]], short.weights, case)
            assert not long.weights[..., short.weights.shape[-1] :].any(), case
            close(call(mechanism, query, padded), short.context, case)


@each(GRID)
def test_nan_in_padding_never_leaks(bundle: tuple[Case, ...]) -> None:
    for case in bundle:
        mechanism, query = case.build(), case.rows(2, N, 11).requires_grad_()
        rows = case.rows(2, N, 12)
        rows[1, ..., 4:, :] = torch.nan
        scope = A.lengths([N, 4])
        for reading in (
            lambda m, f=mechanism, q=query: look(f, q, m).context,
            lambda m, f=mechanism, q=query: call(f, q, m),
        ):
            mechanism.zero_grad()
            context = reading(mechanism.memory(rows, scope=scope))
            assert torch.isfinite(context).all(), case
            if context.requires_grad:
                context.sum().backward()
                for parameter in mechanism.parameters():
                    assert parameter.grad is None or torch.isfinite(parameter.grad).all(), case


@each(GRID)
def test_masked_tokens_change_nothing_bit_for_bit(bundle: tuple[Case, ...]) -> None:
    for case in bundle:
        mechanism, query, rows = case.build(), case.rows(2, N, 11), case.rows(2, N, 12)
        changed = rows.clone()
        changed[1, ..., 4:, :] += 3.0
        scope = A.lengths([N, 4])
        with torch.no_grad():
            before, after = (mechanism.memory(x, scope=scope) for x in (rows, changed))
            assert torch.equal(call(mechanism, query, before), call(mechanism, query, after)), case
            assert torch.equal(look(mechanism, query, before).weights, look(mechanism, query, after).weights), case


@each(GRID)
def test_the_future_cannot_change_the_past_bit_for_bit(bundle: tuple[Case, ...]) -> None:
    for case in bundle:
        mechanism = case.build()
        scope = scope_of(mechanism)
        if not isinstance(scope, A.Scope) or scope.ahead > 0 or any(word in case.name for word in COMPETING):
            continue
        rows = case.rows(2, N, 12)
        changed = rows.clone()
        changed[..., 4:, :] += 3.0
        with torch.no_grad():
            for reading in (call, lambda *a: look(*a).context):
                before, after = (reading(mechanism, x, mechanism.memory(x)) for x in (rows, changed))
                assert torch.equal(before[..., :4, :], after[..., :4, :]), case


@each(GRID)
def test_a_sentence_alone_equals_the_same_in_a_batch(bundle: tuple[Case, ...]) -> None:
    for case in bundle:
        mechanism, query, memory = setting(case)
        rows = case.rows(2, N, 12)[1:, ..., : N - 3, :]
        with torch.no_grad():
            alone = call(mechanism, query[1:], mechanism.memory(rows))
            close(call(mechanism, query, memory)[1:], alone, case)


@each(GRID)
def test_step_by_step_equals_all_at_once(bundle: tuple[Case, ...]) -> None:
    for case in bundle:
        mechanism, query, memory = setting(case)
        if isinstance(mechanism, A.Pooling) or any(word in case.name for word in COMPETING):
            continue
        with torch.no_grad():
            whole, past = look(mechanism, query, memory), None
            for t in range(query.shape[-2]):
                step = look(mechanism, query[..., t : t + 1, :], memory, t, past)
                close(step.context, whole.context[..., t : t + 1, :], case)
                past = step.weights if past is None else torch.cat((past, step.weights), 2)
                fast = call(mechanism, query[..., t : t + 1, :], memory, t, past[:, :, :-1] if t else None)
                close(fast, step.context, case)


@each(GRID)
def test_a_cache_that_grows_and_is_picked_equals_the_whole(bundle: tuple[Case, ...]) -> None:
    for case in bundle:
        mechanism, rows = case.build(), case.rows(2, N, 12)
        if any(isinstance(m, A.Compression | A.Tokens) for m in mechanism.modules()):
            continue  # these are made of a whole memory
        query, swap = case.rows(2, N, 11), torch.tensor([1, 0, 1])
        with torch.no_grad():
            grown = mechanism.memory(rows[..., :3, :])
            for t in range(3, N):
                grown = grown.then(mechanism.memory(rows[..., t : t + 1, :], start=t))
            whole = mechanism.memory(rows)
            close(grown.keys, whole.keys, case)
            expected = look(mechanism, query, whole).context
            close(call(mechanism, query, grown), expected, case)
            close(call(mechanism, query[swap], grown.pick(swap)), expected[swap], case)


@each(GRID)
def test_nothing_to_see_reads_zeros_with_finite_gradients(bundle: tuple[Case, ...]) -> None:
    for case in bundle:
        mechanism, rows = case.build(), case.rows(2, N, 12).requires_grad_()
        if any(isinstance(m, A.Tokens | A.Linformer) for m in mechanism.modules()):
            continue  # learned keys, or mixtures, are there to see even in an empty memory
        query = case.rows(2, N, 11).requires_grad_()
        for reading in (call, lambda *a: look(*a).context):
            memory = mechanism.memory(rows, scope=A.lengths([N, 0]))
            context = reading(mechanism, query, memory)
            inner = mechanism.mechanism if isinstance(mechanism, A.Pooling) else mechanism
            empty = (
                inner.out.bias.expand_as(context[1]) if isinstance(inner, A.Heads) else torch.zeros_like(context[1])
            )
            assert torch.equal(context[1], empty), case
            if context.requires_grad:
                context.sum().backward()
            for leaf in (query, rows, *mechanism.parameters()):
                assert leaf.grad is None or torch.isfinite(leaf.grad).all(), case
        assert not look(mechanism, query, memory).weights[1].any(), case


@each(SOME)
def test_watching_changes_nothing_and_leaves_nothing_behind(bundle: tuple[Case, ...]) -> None:
    for case in bundle:
        mechanism, query, memory = setting(case)
        with torch.no_grad():
            before = call(mechanism, query, memory)
            with A.watch(mechanism) as seen:
                close(call(mechanism, query, memory), before, case)
            assert len(seen) == 1, case
            assert torch.equal(seen[0].weights, look(mechanism, query, memory).weights), case
            assert torch.equal(call(mechanism, query, memory), before), case
        kept = weakref.ref(seen[0].look)
        del seen
        gc.collect()
        assert kept() is None, case


@each(SOME)
def test_saving_and_loading_changes_nothing(bundle: tuple[Case, ...]) -> None:
    for case in bundle:
        mechanism, query, memory = setting(case)
        torch.manual_seed(99)
        other = case.make().eval()
        other.load_state_dict(copy.deepcopy(mechanism.state_dict()))
        again = other.memory(case.rows(2, N, 12), scope=memory_scope(N))
        with torch.no_grad():
            assert torch.equal(call(other, query, again), call(mechanism, query, memory)), case


def memory_scope(n: int) -> A.Scope:
    return A.lengths([n, n - 3])


@each(SOME)
def test_gradients_in_double_precision(bundle: tuple[Case, ...]) -> None:
    for case in bundle:
        if any(word in case.name for word in ("hard", "straight_through", "jang")):
            continue  # one has no gradient by definition, the other's is not that of its value
        mechanism = case.build(torch.float64)
        query, rows = case.rows(1, 3, 11, torch.float64), case.rows(1, 4, 12, torch.float64)
        leaves = [x.requires_grad_() for x in (query, rows)]

        def reading(q: Tensor, x: Tensor, mechanism: Any = mechanism) -> Tensor:
            return look(mechanism, q, mechanism.memory(x, scope=A.lengths([3]))).context

        assert torch.autograd.gradcheck(reading, leaves, eps=1e-6, atol=1e-5, fast_mode=True), case


@pytest.mark.parametrize("case", [c for c in PAPERS if c.name not in ("xu_hard", "jang")], ids=str)
def test_training_without_dropout_equals_evaluation(case: Case) -> None:
    mechanism, query, memory = setting(case)
    with torch.no_grad():
        evaluated = call(mechanism, query, memory)
        assert torch.equal(call(mechanism.train(), query, memory), evaluated)


@pytest.mark.parametrize("score", ["scaled", "additive", "kernel_elu"])
def test_half_precision_reads_finite_and_close(score: str) -> None:
    case = composition(score, "softmax", "causal")
    mechanism, query, memory = setting(case)
    expected = call(mechanism, query, memory).detach()
    low = case.build().to(torch.bfloat16)
    rows = case.rows(2, N, 12, torch.bfloat16)
    got = call(low, query.bfloat16(), low.memory(rows, scope=A.lengths([N, N - 3])))
    assert got.dtype == torch.bfloat16
    assert float((got.detach().float() - expected).abs().max()) < 0.1


def test_laws_would_notice_a_leak() -> None:
    """A scope that forgets padding must fail the padding law: the laws can fail."""

    class Forgetful(A.Select):
        def forward(self, scores, allowed, query, past=None):  # type: ignore[no-untyped-def]
            return A.Selection(scores.softmax(-1), 0.0)

    case = Case("forgetful", lambda: A.Attention(A.ScaledDot(), Forgetful()), heads=True)
    with pytest.raises(AssertionError):
        test_padding_never_changes_the_answer((case,))


def test_every_composition_is_distinct() -> None:
    names = [case.name for case in PAPERS + GRID]
    assert len(names) == len(set(names)) > 1400
    assert all(isinstance(case.make(), nn.Module) for case in PAPERS)
