"""Sentences that nobody waits for leave the search at the next step, and change nothing for the others."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from regard.search.beam import search
from regard.search.settings import Search
from regard.search.wishes import Wish
from tests.search.models import Whim, limited

SOURCE = torch.tensor([[4, 5, 6], [7, 8, 0], [9, 4, 5], [6, 6, 0]])
LENGTHS = torch.tensor([3, 2, 3, 2])


def counted(answers: int) -> tuple[Callable[[], bool], list[int]]:
    """Says yes so often, then no; and how often it was asked."""
    asked: list[int] = []

    def wanted() -> bool:
        asked.append(1)
        return len(asked) <= answers

    return wanted, asked


@pytest.mark.parametrize("settings", [limited(9, beam=3), limited(9, beam=1), limited(9, sample=True, nbest=2)])
def test_others_get_what_they_get_anyway(settings: Search) -> None:
    model = Whim(30, 2.0, 2.0)
    usual = search(model, SOURCE, LENGTHS, settings)
    leaves, asked = counted(1)
    found = search(model, SOURCE, LENGTHS, settings, [Wish(), Wish(wanted=leaves), Wish(wanted=lambda: True), Wish()])
    assert found[1] == []
    assert [found[n] for n in (0, 2, 3)] == [usual[n] for n in (0, 2, 3)]
    assert len(asked) == 2  # before the search and after the first step: never again


def test_where_nobody_waits_no_step_is_made() -> None:
    class Untouched(Whim):
        def start(self, *_: object) -> None:  # type: ignore[override]
            raise AssertionError

    gone = [Wish(wanted=lambda: False)] * 4
    assert search(Untouched(30, 2.0, 2.0), SOURCE, LENGTHS, limited(9, beam=2), gone) == [[], [], [], []]


def test_all_leave_and_the_search_ends() -> None:
    leaves, asked = counted(1)
    found = search(Whim(30, 2.0, 2.0), SOURCE[:1], LENGTHS[:1], limited(40, beam=2), [Wish(wanted=leaves)])
    assert found == [[]]
    assert len(asked) == 2
