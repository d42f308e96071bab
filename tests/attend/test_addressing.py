"""A Turing machine's head, step by step: rows C2a-C2h and the corrections X23-X25."""

from __future__ import annotations

import pytest
import torch

from regard import attend as A
from regard.attend.addressing import first_place, interpolate, rotate, sharpen, slide, split_shift

TAPE = torch.ones(1, 1, 8, dtype=torch.bool)


def one_hot(place: int, size: int = 8) -> torch.Tensor:
    return torch.nn.functional.one_hot(torch.tensor([[place]]), size).double()


def moved(weights: torch.Tensor, offsets: list[int], shares: list[float], tape: torch.Tensor = TAPE) -> torch.Tensor:
    return rotate(weights, tape, torch.tensor([[offsets]]), torch.tensor([[shares]], dtype=torch.float64))


def test_shift_moves_forward_and_wraps() -> None:
    assert moved(one_hot(2), [1], [1.0]).argmax() == 3
    assert moved(one_hot(7), [1], [1.0]).argmax() == 0
    assert moved(one_hot(0), [-1], [1.0]).argmax() == 7
    assert moved(one_hot(2), [-1, 0, 1], [0.1, 0.2, 0.7]).flatten()[1:4].tolist() == pytest.approx([0.1, 0.2, 0.7])


def test_the_tape_is_what_is_in_scope() -> None:
    tape = torch.tensor([[[True, False, True, True, False, True, False, False]]])
    assert moved(one_hot(5), [1], [1.0], tape).argmax() == 0
    assert moved(one_hot(0), [1], [1.0], tape).argmax() == 2


def test_scalar_shift_splits_between_its_neighbours() -> None:
    offsets, shares = split_shift(torch.tensor([[6.7]]))
    assert offsets.flatten().tolist() == [6, 7]
    assert shares.flatten().tolist() == pytest.approx([0.3, 0.7], abs=1e-6)
    weights = rotate(one_hot(1).float(), TAPE, offsets, shares).flatten()
    assert weights.tolist() == pytest.approx([0.7, 0, 0, 0, 0, 0, 0, 0.3], abs=1e-6)


def test_interpolation_keeps_the_final_weighting_of_before_X23() -> None:
    content, before = one_hot(1), one_hot(5)
    assert torch.equal(interpolate(content, before, torch.zeros(1, 1, 1).double()), before)
    assert torch.equal(interpolate(content, before, torch.ones(1, 1, 1).double()), content)


def test_sharpening_undoes_blur_and_one_is_the_identity() -> None:
    blurred = moved(one_hot(3), [-1, 0, 1], [0.1, 0.8, 0.1])
    assert torch.allclose(sharpen(blurred, torch.ones(1, 1, 1).double()), blurred)
    assert sharpen(blurred, torch.full((1, 1, 1), 20.0).double()).max() > 0.999
    assert not sharpen(torch.zeros(1, 1, 8), torch.ones(1, 1, 1)).any()
    faint = torch.full((1, 1, 8), 1e-12)
    assert torch.allclose(sharpen(faint, torch.full((1, 1, 1), 40.0)), torch.full((1, 1, 8), 1 / 8))


def test_the_head_walks_along_the_tape() -> None:
    """Gate shut, shift +1: the head visits every place in turn, which the misprinted formula cannot do."""
    attention = A.papers.graves(4, 6)
    select = attention.select
    assert isinstance(select, A.Turing)
    assert isinstance(select.shift, A.ShiftChoice)
    with torch.no_grad():
        select.gate.weight.zero_()
        select.gate.bias.fill_(-30)
        select.shift.choose.weight.zero_()
        select.shift.choose.bias.copy_(torch.tensor([-30.0, -30.0, 30.0]))
        weights = attention.look(torch.randn(1, 5, 4), attention.memory(torch.randn(1, 8, 6))).weights[0, 0]
    assert weights.argmax(-1).tolist() == [1, 2, 3, 4, 5]
    assert weights.max(-1).values.min() > 0.999


def test_a_head_starts_at_the_first_key_in_scope() -> None:
    tape = torch.tensor([[[False, True, True]], [[False, False, False]]])
    assert first_place(tape).int().tolist() == [[[0, 1, 0]], [[0, 0, 0]]]


def test_several_heads_walk_on_their_own() -> None:
    """Two heads over one memory, with the scalar shift: past is per head."""
    torch.manual_seed(0)
    attention = A.Attention(A.Cosine(1.0), A.Turing(6, A.ShiftBy(6)))
    query, memory = torch.randn(1, 2, 4, 6), attention.memory(torch.randn(1, 2, 5, 6))
    whole = attention.look(query, memory).weights
    half = attention.look(query[:, :, :2], memory).weights
    rest = attention.look(query[:, :, 2:], memory, 2, half).weights
    assert torch.allclose(torch.cat((half, rest), 2), whole, atol=1e-6)
    assert torch.allclose(whole.sum(-1), torch.ones(1, 2, 4), atol=1e-5)


@pytest.mark.parametrize(("places", "reach"), [(7, 1), (7, 3), (3, 3), (1, 1)])
def test_a_window_slid_along_the_tape_is_the_rotation(places: int, reach: int) -> None:
    weights = torch.rand(2, 3, places, dtype=torch.float64)
    shares = torch.rand(2, 3, 2 * reach + 1, dtype=torch.float64).softmax(-1)
    offsets = torch.arange(-reach, reach + 1).expand(2, 3, -1)
    tape = torch.ones(2, 3, places, dtype=torch.bool)
    torch.testing.assert_close(slide(weights, shares), rotate(weights, tape, offsets, shares))


@pytest.mark.parametrize("reach", [0, 1, 4])  # none, the window's, and further than the tape is long
def test_a_tape_without_gaps_is_walked_as_one_with_a_scope_that_shows_all(reach: int) -> None:
    select, query, scores = A.Turing(8, A.ShiftChoice(8, reach)), torch.randn(2, 1, 3, 8), torch.randn(2, 1, 3, 3)
    shown = torch.ones(1, 1, 1, 3, dtype=torch.bool)
    torch.testing.assert_close(select(scores, None, query).weights, select(scores, shown, query).weights)
