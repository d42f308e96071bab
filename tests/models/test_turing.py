"""Neural Turing machines, part by part (C2a-C2h), and what the order of a step and a wrong formula change."""

from __future__ import annotations

import pytest
import torch

from regard.models.settings import LstmModel, TuringModel
from regard.models.turing import Head, TuringMachine, build_machine, written


def machine(**settings: object) -> TuringMachine:
    torch.manual_seed(1)
    given = TuringModel.model_validate({"width": 12, "places": 7, "cells": 5, **settings})
    found = build_machine(given, 4, 3)
    assert isinstance(found, TuringMachine)
    return found


def one_hot(place: int, places: int = 7) -> torch.Tensor:
    return torch.eye(places)[place].expand(2, -1)


def test_what_is_written_is_read_back_exactly():
    tape, word = torch.rand(2, 7, 5), torch.randn(2, 5)
    new = written(tape, one_hot(3), torch.ones(2, 5), word)
    assert torch.equal(new[:, 3], word)
    others = [place for place in range(7) if place != 3]
    assert torch.equal(new[:, others], tape[:, others])


def test_erasing_is_number_by_number_and_adding_comes_after():
    tape = torch.ones(2, 7, 5)
    erase = torch.tensor([1.0, 0.5, 0.0, 0.0, 0.0]).expand(2, -1)
    new = written(tape, 0.5 * one_hot(2), erase, torch.full((2, 5), 0.2))
    torch.testing.assert_close(new[0, 2], torch.tensor([0.6, 0.85, 1.1, 1.1, 1.1]))
    assert torch.equal(new[0, 1], tape[0, 1])


def test_with_a_closed_gate_and_no_shift_a_head_stays_where_it_is():
    head = Head(6, 5)
    select = head.attention.select
    with torch.no_grad():
        select.gate.bias.fill_(-50.0)
        select.shift.choose.weight.zero_()
        select.shift.choose.bias.copy_(torch.tensor([-50.0, 50.0, -50.0]))
        before = torch.full((2, 1, 1, 7), 1 / 7)
        before[:, :, :, 2] += 0.3
        before = before / before.sum(-1, keepdim=True)
        select.sharpness.weight.zero_()
        select.sharpness.bias.fill_(-50.0)
        _, weights, kept = head(torch.randn(2, 6), torch.rand(2, 7, 5), before)
    torch.testing.assert_close(weights, before)
    assert torch.equal(kept, weights)


def test_the_wrong_formula_starts_from_content_alone():
    head = Head(6, 5, keeps="content")
    state, tape = torch.randn(2, 6), torch.rand(2, 7, 5)
    _, weights, kept = head(state, tape, None)
    content = head.by_content(state.unsqueeze(1), head.attention.memory(tape))
    assert torch.equal(kept, content)
    assert not torch.allclose(kept, weights)


@pytest.mark.parametrize("controller", ["forward", "lstm"])
@pytest.mark.parametrize("heads", [1, 3])
def test_every_controller_and_number_of_heads_learns(controller, heads):
    model = machine(controller=controller, readers=heads, writers=heads)
    trail = model.trail(torch.rand(2, 6, 4))
    assert trail.outputs.shape == (2, 6, 3)
    assert trail.read is not None
    assert trail.wrote is not None
    assert trail.read.shape == trail.wrote.shape == (2, 6, heads, 7)
    for where in (trail.read, trail.wrote):
        torch.testing.assert_close(where.sum(-1), torch.ones(2, 6, heads))
        assert bool((where >= 0).all())
    trail.outputs.sum().backward()
    without = {name for name, weight in model.named_parameters() if weight.requires_grad and weight.grad is None}
    assert without == set()


def test_heads_find_their_place_on_the_tape_as_it_was():
    """Whether a step reads or writes first changes what is read, not where its heads stand."""
    given = torch.rand(2, 1, 4)
    first, second = machine(order="read-write"), machine(order="write-read")
    one, other = first.trail(given), second.trail(given)
    assert torch.equal(one.read, other.read)
    assert torch.equal(one.wrote, other.wrote)
    assert torch.equal(one.tape, other.tape)
    assert not torch.allclose(one.outputs, other.outputs)


def test_the_future_cannot_change_the_past():
    model, given = machine(), torch.rand(2, 8, 4)
    changed = given.clone()
    changed[:, 5:] = 9.0
    torch.testing.assert_close(model(given)[:, :5], model(changed)[:, :5], rtol=0, atol=0)


def test_an_lstm_beside_it_has_no_tape():
    model = build_machine(LstmModel(width=8, layers=2), 4, 3)
    trail = model.trail(torch.rand(2, 6, 4))
    assert trail.outputs.shape == (2, 6, 3)
    assert trail.tape is None


def test_sizes_are_near_the_papers():
    """Table 1 and 3: 17,162 with a feed-forward controller, 67,561 with an LSTM, 1,352,969 for three LSTM layers."""

    def size(settings: TuringModel | LstmModel) -> int:
        return sum(p.numel() for p in build_machine(settings, 9, 8).parameters() if p.requires_grad)

    assert size(TuringModel(controller="forward")) == pytest.approx(17_162, rel=0.35)
    assert size(TuringModel(controller="lstm")) == pytest.approx(67_561, rel=0.1)
    assert size(LstmModel()) == pytest.approx(1_352_969, rel=0.03)
