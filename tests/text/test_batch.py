"""Batches keep to the budget, have every pair once, little padding, and the same order for the same seed."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.text import batch as module
from regard.text.batch import padded, padding, plan
from regard.text.noise import mix, noise

ORDER = [[3, 4], [5], [7], [0, 1, 2], [6]]
LENGTHS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=200)


@given(LENGTHS, st.integers(1, 300), st.integers(-(2**70), 2**70), st.integers(0, 5))
@settings(deadline=None, max_examples=200)
def test_each_pair_once_within_the_budget(lengths: list[tuple[int, int]], budget: int, seed: int, epoch: int) -> None:
    source, target = (np.array([pair[side] for pair in lengths], np.int32) for side in (0, 1))
    batches = plan(source, target, budget, seed, epoch)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch)
        widest = max(int(source[batch].max()), int(target[batch].max()) + 1)
        assert len(batch) * widest <= budget or len(batch) == 1


def captions(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Lengths like those of Multi30k: about 14 pieces, the target like the source give or take three."""
    rng = np.random.default_rng(0)
    source = np.clip(rng.gamma(9, 1.6, count), 3, 60).astype(np.int32)
    return source, np.clip(source + rng.normal(0.4, 3, count), 2, 60).astype(np.int32)


def test_little_is_padding() -> None:
    source, target = captions(29_000)
    batches = plan(source, target, 4096, seed=1, epoch=0)
    assert padding(source, target, batches) < 0.05
    full = [len(b) * max(source[b].max(), target[b].max() + 1) for b in batches]
    assert sum(full) > 0.98 * 4096 * len(batches)


def test_the_same_seed_and_epoch_give_the_same_plan_and_others_another() -> None:
    source, target = captions(2_000)
    one, again, epoch, seed = (plan(source, target, 1000, s, e) for s, e in ((1, 0), (1, 0), (1, 1), (2, 0)))
    assert all(np.array_equal(a, b) for a, b in zip(one, again, strict=True))
    for other in (epoch, seed):
        assert [len(batch) for batch in other] != [len(batch) for batch in one]
        mates = {frozenset(batch.tolist()) for batch in one} & {frozenset(batch.tolist()) for batch in other}
        assert len(mates) < len(one) / 2  # other pairs go together, not only in another order


def test_batches_do_not_come_by_length() -> None:
    source, target = captions(29_000)
    widths = np.array([source[batch].max() for batch in plan(source, target, 1024, 1, 0)], float)
    assert abs(np.corrcoef(widths, np.arange(len(widths)))[0, 1]) < 0.15
    assert abs(np.corrcoef(widths[1:], widths[:-1])[0, 1]) < 0.15


def test_the_order_is_fixed_for_ever() -> None:
    """Whatever changed these numbers would change the order of every run that is resumed."""
    assert [batch.tolist() for batch in plan(np.arange(1, 9), np.arange(1, 9), 12, seed=7, epoch=3)] == ORDER


def test_noise_is_splitmix64_and_even() -> None:
    """The first numbers from state 1234567 are published."""
    states = np.array([1234567], np.uint64) + np.arange(1, 3, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    assert mix(states).tolist() == [6457827717110365317, 3203168211198807973]
    share = noise(100_000, 3, 4).astype(float) / 2**64
    assert abs(share.mean() - 0.5) < 0.01
    assert np.histogram(share, 10, (0, 1))[0].min() > 9_500
    assert len(np.unique(noise(1000, 1, 2) ^ noise(1000, 2, 1))) == 1000


def test_padding_rows() -> None:
    rows = [np.array([5, 6], np.uint16), np.array([7], np.uint16), np.array([], np.uint16)]
    assert padded(rows).tolist() == [[5, 6], [7, 0], [0, 0]]
    assert padded(rows, fill=9).tolist() == [[5, 6], [7, 9], [9, 9]]
    assert padded([]).shape == (0, 0)
    assert padded(rows).dtype == np.int64


def test_what_is_wrong_is_said() -> None:
    two, three = np.array([1, 2]), np.array([1, 2, 3])
    with pytest.raises(ValueError, match="2 sources and 3 targets"):
        plan(two, three, 10, 1, 0)
    with pytest.raises(ValueError, match="A budget of 0 tokens"):
        plan(two, two, 0, 1, 0)


def test_a_plan_is_a_sequence_without_a_list() -> None:
    source, target = captions(500)
    batches = plan(source, target, 300, 1, 0)
    listed = list(batches)
    assert len(batches) == len(listed)
    assert np.array_equal(batches[-1], listed[-1])
    for cut in (slice(3, 9), slice(1, None, 4), slice(5, 5)):
        some = batches[cut]
        assert len(some) == len(listed[cut])
        assert all(np.array_equal(one, other) for one, other in zip(some, listed[cut], strict=True))
    assert not batches[5:5]
    with pytest.raises(IndexError):
        batches[len(batches)]
    assert batches.order.nbytes + batches.bounds.nbytes + batches.turns.nbytes < 12 * 500  # 4 bytes a pair, and a few


def test_sorting_in_parts_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = captions(500)
    whole = plan(source, target, 300, 1, 0)
    monkeypatch.setattr(module, "_AT_ONCE", 33)
    parts = plan(source, target, 300, 1, 0)
    assert all(np.array_equal(one, other) for one, other in zip(whole, parts, strict=True))


def test_planning_takes_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """T15: ten million pairs are planned anew every epoch."""
    monkeypatch.setattr(module, "_AT_ONCE", 10_000)
    source, target = captions(200_000)
    tracemalloc.start()
    try:
        batches = plan(source, target, 4096, 1, 0)
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(batches) > 100
    assert held < 5 * 200_000  # bytes
    assert peak < 20 * 200_000
