"""The odd drawing of a set: of another character, in another hand, from alphabets kept apart."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from regard.tasks.odd_pictures import Drawings, OddPicture

RNG = np.random.default_rng


def owners(images: np.ndarray, drawings: np.ndarray) -> list[tuple[int, int]]:
    """Which character, and which drawing of it, each picture is: found by comparing with all."""
    flat = drawings.reshape(*drawings.shape[:2], -1)
    found = [np.argwhere((flat == image).all(-1)) for image in images]
    return [(int(hit[0, 0]), int(hit[0, 1])) for hit in found]


def test_one_is_of_another_character_and_no_drawing_is_there_twice():
    problem = OddPicture(Drawings(side=7))
    assert problem.answer(5) == problem.told(np.zeros((6, 49)))[5]
    for drawn, glyphs in (
        (problem.draw(RNG(1), 8, 6), problem.drawings.learned),
        (problem.held_out(RNG(1), 8, 6), problem.drawings.measured),
    ):
        for items, right in zip(drawn.items, drawn.right[:, 0], strict=True):
            kinds, hands = zip(*owners(items, glyphs.images), strict=True)
            others = {kind for place, kind in enumerate(kinds) if place != right}
            assert len(others) == 1
            assert kinds[right] not in others
            assert len(set(hands)) == 6


def test_learned_and_measured_characters_are_not_the_same():
    drawings = Drawings(side=7)
    learned, measured = (part.images.mean(1).reshape(len(part), -1) for part in (drawings.learned, drawings.measured))
    nearest = ((learned[:, None] - measured[None]) ** 2).sum(-1).min()
    assert nearest > 1e-3


def test_files_without_others_to_measure_by_are_refused():
    with pytest.raises(ValueError, match="test_characters is missing"):
        Drawings(Path("some.npz")).measured  # noqa: B018


@pytest.mark.skipif(
    not (Path(os.environ.get("REGARD_DATA", "/nowhere")) / "omniglot").is_dir(), reason="Omniglot is not there"
)
def test_omniglots_alphabets_are_drawn_from():
    folder = Path(os.environ["REGARD_DATA"]) / "omniglot"
    problem = OddPicture(Drawings(folder / "evaluation_a.npz", folder / "evaluation_a.npz"))
    drawn = problem.held_out(RNG(1), 3, 10)
    assert drawn.items.shape == (3, 10, 225)
    assert 0 < drawn.items.mean() < 0.5
