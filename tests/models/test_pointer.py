"""Pointer networks: one step at a time equals all at once, padding changes nothing, answers can be right."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from regard.attend.watch import watch
from regard.models.pointer import FIRST, Pointer, build_pointer
from regard.models.settings import PointerModel
from regard.search.beam import search
from regard.search.settings import Search
from regard.text.ids import END, START


def model(order: str = "any") -> Pointer:
    torch.manual_seed(3)
    return build_pointer(PointerModel(width=16), 2, order).eval()


def points(rows: int, count: int) -> torch.Tensor:
    return torch.rand(rows, count, 2, generator=torch.Generator().manual_seed(rows))


def test_stepping_equals_all_at_once():
    pointer, given = model(), points(3, 5)
    lengths = torch.tensor([5, 5, 5])
    before = torch.tensor([[START, FIRST, FIRST + 3], [START, FIRST + 4, FIRST + 4], [START, FIRST + 1, FIRST]])
    whole = pointer(given, lengths, before)
    state = pointer.start(given, lengths)
    for at in range(3):
        scores, state = pointer.step(state, before[:, at])
        torch.testing.assert_close(scores, whole[:, at])


def test_padding_changes_nothing_and_is_never_pointed_at():
    pointer, given = model(), points(2, 4)
    lengths = torch.tensor([4, 4])
    before = torch.tensor([[START, FIRST], [START, FIRST + 2]])
    alone = pointer(given, lengths, before)
    wide = pointer(torch.cat((given, torch.full((2, 3, 2), 7.0)), 1), lengths, before)
    torch.testing.assert_close(wide[..., : FIRST + 4], alone)
    assert bool((wide[..., FIRST + 4 :] == -torch.inf).all())
    assert bool((wide[..., :END] == -torch.inf).all())


@pytest.mark.parametrize(("order", "beam"), [("all", 1), ("all", 3), ("some", 2)])
def test_a_search_gives_only_answers_that_can_be_right(order, beam):
    for row in search(model(order), points(6, 7), torch.full((6,), 7), Search(beam=beam)):
        said = [word - FIRST for word in row[0].words]
        assert len(set(said)) == len(said), "a point twice"
        assert order == "some" or sorted(said) == list(range(7))
        assert row[0].complete


def test_weights_that_are_watched_are_the_answer():
    pointer, given = model(), points(2, 5)
    before = torch.tensor([[START, FIRST], [START, FIRST + 2]])
    with watch(pointer) as seen:
        scores = pointer(given, torch.tensor([5, 5]), before)
    torch.testing.assert_close(seen[0].weights[:, 0], scores[..., END:].softmax(-1))


def test_the_same_weights_take_any_number_of_points():
    found = search(model("all"), points(2, 23), torch.full((2,), 23), Search(beam=1))
    assert all(sorted(np.array(row[0].words) - FIRST) == list(range(23)) for row in found)
