"""Cells: equal to torch's with the same weights, by hand equal to autograd, and how far gradients reach."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from regard.attend.papers import bahdanau
from regard.models.recurrence.along import along, plain, turned
from regard.models.recurrence.by_hand import cells as by_hand
from regard.models.recurrence.by_hand.cells import BY_HAND, CellByHand
from regard.models.recurrence.cells import CELLS, Cell, Gru, Lstm, Rnn
from regard.models.recurrence.encoder import Backwards, BothWays, Forwards

KINDS = pytest.mark.parametrize("kind", list(CELLS.values()), ids=list(CELLS))
TORCH: dict[type[Cell], type[nn.RNNBase]] = {Lstm: nn.LSTM, Gru: nn.GRU, Rnn: nn.RNN}
LENGTHS = torch.tensor([6, 0, 4, 1])


def copied(cell: Cell, theirs: nn.RNNBase, suffix: str = "") -> None:
    """Give torch's layer the weights of a cell."""
    with torch.no_grad():
        for layer, name in ((cell.input, "ih"), (cell.hidden, "hh")):
            getattr(theirs, f"weight_{name}_l0{suffix}").copy_(layer.weight)
            getattr(theirs, f"bias_{name}_l0{suffix}").copy_(layer.bias)


@KINDS
@pytest.mark.parametrize("reading", ["plain", "by hand"])
def test_equal_to_torchs_own_with_the_same_weights(kind: type[Cell], reading: str) -> None:
    torch.manual_seed(0)
    cell, theirs, x = kind(5, 8), TORCH[kind](5, 8, batch_first=True), torch.randn(3, 7, 5)
    copied(cell, theirs)
    expected, last = theirs(x)
    states = plain(cell, x, torch.zeros(3, cell.size)) if reading == "plain" else along(cell, x)[1]
    assert (cell.shown(states) - expected).abs().max() < 1e-6
    last = torch.cat(last, -1) if isinstance(last, tuple) else last
    assert (states[:, -1] - last[0]).abs().max() < 1e-6


@KINDS
def test_both_ways_equal_to_torchs_own_on_packed_rows(kind: type[Cell]) -> None:
    torch.manual_seed(0)
    forwards, backwards = kind(5, 8), kind(5, 8)
    theirs = TORCH[kind](5, 8, batch_first=True, bidirectional=True)
    copied(forwards, theirs)
    copied(backwards, theirs, "_reverse")
    x, lengths = torch.randn(3, 7, 5), torch.tensor([7, 2, 5])
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    answer, last = theirs(packed)
    expected, _ = nn.utils.rnn.pad_packed_sequence(answer, batch_first=True)
    shown, final = BothWays(Forwards(forwards), Backwards(backwards))(x, lengths)
    words = (torch.arange(7) < lengths[:, None]).unsqueeze(-1)
    assert ((shown - expected) * words).abs().max() < 1e-6
    one_way = [torch.cat([part[way] for part in last], -1) for way in (0, 1)] if isinstance(last, tuple) else last
    assert (final - torch.cat(tuple(one_way), -1)).abs().max() < 1e-6


@KINDS
@pytest.mark.parametrize("from_the_end", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_by_hand_equals_plain(kind: type[Cell], from_the_end: bool, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    cell, x = kind(5, 8).to(dtype), torch.randn(4, 6, 5, dtype=dtype, requires_grad=True)
    first = torch.randn(4, cell.size, dtype=dtype, requires_grad=not from_the_end) * (not from_the_end)
    lengths = LENGTHS if from_the_end else None
    words = (torch.arange(6) < LENGTHS[:, None]).unsqueeze(-1) if from_the_end else torch.ones(1)
    hand = by_hand.along(cell, x, first, lengths)
    assert hand is not None
    pair = [hand * words, plain(cell, x, first, lengths) * words]
    assert (pair[0] - pair[1]).abs().max() < (2e-6 if dtype == torch.float32 else 1e-14)
    wanted = [x, *cell.parameters(), *([] if from_the_end else [first])]
    arriving = torch.randn_like(hand)
    found = [torch.autograd.grad(answer, wanted, arriving) for answer in pair]
    apart = max(float((a - b).abs().max()) for a, b in zip(*found, strict=True))
    assert apart < (1e-5 if dtype == torch.float32 else 1e-12)


def test_a_second_backward_pass_finds_the_same_and_nothing_is_kept_after(monkeypatch: pytest.MonkeyPatch) -> None:
    alive: list[weakref.ref[CellByHand]] = []
    make = CellByHand.__init__

    def noted(self: CellByHand, *given: Tensor) -> None:
        make(self, *given)
        alive.append(weakref.ref(self))

    monkeypatch.setattr(CellByHand, "__init__", noted)
    cell, x = Gru(3, 4), torch.randn(2, 5, 3)
    gc.disable()
    try:
        answer = along(cell, x)[0].square().sum()
        once, again = (torch.autograd.grad(answer, cell.hidden.weight, retain_graph=True)[0] for _ in range(2))
        del answer
        assert torch.equal(once, again)
        assert len(alive) == 1
        assert alive[0]() is None
    finally:
        gc.enable()


class Counter(Cell):
    """A kind that nobody has worked out by hand."""

    gates = 1

    def turn(self, given: Tensor, before: Tensor) -> Tensor:
        return before + 1 + 0 * given


def test_an_unknown_cell_is_read_plainly() -> None:
    assert Counter not in BY_HAND
    shown, _ = along(Counter(3, 2), torch.zeros(1, 4, 3))
    assert shown[0, :, 0].tolist() == [1, 2, 3, 4]


def test_turning_leaves_padding_where_it_is() -> None:
    x = torch.arange(1, 9).view(2, 4, 1).float()
    there = turned(x, torch.tensor([4, 2]))
    assert there[..., 0].tolist() == [[4, 3, 2, 1], [6, 5, 7, 8]]
    assert torch.equal(turned(there, torch.tensor([4, 2])), x)


def test_an_lstm_starts_out_remembering() -> None:
    torch.manual_seed(0)
    gates = Lstm(4, 16).input.bias.view(4, 16).mean(1)
    assert gates[1] > 0.8
    assert gates[[0, 2, 3]].abs().max() < 0.2


def test_gradients_of_plain_units_vanish_with_the_lag_and_those_of_a_look_do_not() -> None:
    """‖∂ answer / ∂ x_1‖, lags 10 to 100, the answer being the last state, or what the last state sees of all."""
    torch.manual_seed(0)
    cell, look, lags = Rnn(4, 32).double(), bahdanau(32, 32, 16).double(), [10, 20, 40, 60, 80, 100]
    with torch.no_grad():
        cell.hidden.weight.copy_(0.9 * torch.linalg.qr(torch.randn(32, 32)).Q)
    last, looked = [], []
    for lag in lags:
        x = (0.1 * torch.randn(1, lag, 4, dtype=torch.float64)).requires_grad_()
        shown, _ = along(cell, x)
        seen = lag * look(shown[:, -1:], look.memory(shown))  # each of n places has about 1/n of the weight
        for answer, norms in ((shown[:, -1], last), (seen, looked)):
            (found,) = torch.autograd.grad(answer.square().sum().sqrt(), x, retain_graph=True)
            norms.append(float(found[0, 0].norm()))
    assert np.corrcoef(lags, np.log(last))[0, 1] ** 2 > 0.95
    assert last[0] > 1e3 * last[-1]
    assert max(looked) < 10 * min(looked)
