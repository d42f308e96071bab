"""Watching a search changes nothing, and tells all of it."""

from __future__ import annotations

import pytest
import torch

from regard.search.beam import search
from regard.search.settings import Search
from regard.search.watching import Grown
from regard.text.ids import END
from tests.search.models import Whim

SOURCE = torch.tensor([[5, 6, 7], [8, 9, 0], [6, 0, 0]])
LENGTHS = torch.tensor([3, 2, 1])


@pytest.mark.parametrize("beam", [1, 3])
def test_every_step_is_told_and_nothing_changes(beam: int) -> None:
    model, settings = Whim(20, 2.0, 1.0), Search(beam=beam, longest_ratio=3, longest_extra=5)
    told: list[Grown] = []
    found = search(model, SOURCE, LENGTHS, settings, watcher=told.append)
    assert found == search(model, SOURCE, LENGTHS, settings)
    for sentence, hypotheses in enumerate(found):
        ended = _followed([step for step in told if step.sentence == sentence])
        for hypothesis in hypotheses:
            if hypothesis.complete:
                assert ended[hypothesis.words] == pytest.approx(hypothesis.log_prob)


def _followed(steps: list[Grown]) -> dict[tuple[int, ...], float]:
    """All that ended, found by walking along what was told."""
    live: dict[int, tuple[int, ...]] = {0: ()}
    ended: dict[tuple[int, ...], float] = {}
    for length, step in enumerate(steps, start=1):
        assert step.length == length
        following: dict[int, tuple[int, ...]] = {}
        children = zip(step.origins, step.words, step.scores, step.ended, step.places, strict=True)
        for origin, word, score, over, place in children:
            if over:
                assert word == END
                ended[live[origin]] = score
            if place is not None and score > -float("inf"):
                following[place] = (*live[origin], word)
        live = following
    return ended
