"""Episodes of characters: names that fit, images never asked about that were shown, alphabets kept apart."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.models.sequence_settings import ImageModel, SnailModel
from regard.tasks.few_shot import Naming
from regard.tasks.glyphs import Glyphs, averaged, episodes, nearest, omniglot, strokes, turned
from regard.tasks.sequence_settings import FewShotData

RNG = np.random.default_rng


def numbered(characters: int = 8, drawings: int = 6) -> Glyphs:
    """Every drawing is a number of its own: character, drawing, and a mark in a corner that tells its turn."""
    images = np.zeros((characters, drawings, 3, 3), np.float32)
    images[:, :, 1, 1] = np.arange(characters)[:, None]
    images[:, :, 1, 0] = np.arange(drawings)
    images[:, :, 0, 0] = 99
    return Glyphs(images, np.repeat(np.arange(characters // 2), 2))


def task(**data) -> Naming:
    given = {"side": 9, "rows": 8, "queries": 3, "ways": 3, "held_out_alphabets": 1, "held_out_rows": 20, **data}
    images = ImageModel(convolutions=2, filters=8, groups=2, width=16)
    return Naming(FewShotData(**given), SnailModel(width=8, key=8, value=8, blocks=1), images, 1)


@pytest.mark.parametrize(("shots", "turns"), [(1, 1), (2, 1), (1, 4)])
def test_a_query_has_the_name_of_its_character_and_was_not_shown(shots, turns):
    drawn = episodes(numbered(), RNG(1), 30, 4, shots, 5, turns)
    assert drawn.support.shape == (30, 4 * shots, 3, 3)
    assert drawn.queries.shape == (30, 5, 3, 3)
    for row in range(30):
        assert sorted(drawn.names[row]) == sorted(list(range(4)) * shots)
        named: dict[int, set[tuple[float, int]]] = {}
        for image, name in zip(drawn.support[row], drawn.names[row], strict=True):
            named.setdefault(int(name), set()).add(character(image))
        assert all(len(found) == 1 for found in named.values()), "one character for a name"
        assert len(set.union(*named.values())) == 4, "one name for a character"
        shown = {image.tobytes() for image in drawn.support[row]}
        for image, right in zip(drawn.queries[row], drawn.right[row], strict=True):
            assert named[int(right)] == {character(image)}
            assert image.tobytes() not in shown
    assert len({tuple(row) for row in drawn.names}) > 1, "in an order of its own"


def character(image: np.ndarray) -> tuple[float, int]:
    """Which it is, and how often it was turned."""
    corners = [image[0, 0], image[2, 0], image[2, 2], image[0, 2]]
    return float(image[1, 1]), int(np.argmax(corners))


def test_turning_is_by_quarters():
    image = np.arange(9.0).reshape(1, 3, 3).repeat(4, 0)
    for turn, found in enumerate(turned(image, np.arange(4))):
        assert np.array_equal(found, np.rot90(image[0], turn))


def test_nearest_pixels_by_brute_force():
    drawn = episodes(strokes(1, 3, 4, 5, 9), RNG(1), 10, 4, 2, 3)
    for row in range(10):
        for query, found in zip(drawn.queries[row], nearest(drawn)[row], strict=True):
            far = [float(((query - shown) ** 2).sum()) for shown in drawn.support[row]]
            assert drawn.names[row][int(np.argmin(far))] == found


def test_made_smaller_by_means_of_what_is_covered():
    image = RNG(0).random((2, 6, 6)).astype(np.float32)
    by_blocks = image.reshape(2, 3, 2, 3, 2).mean((2, 4))
    np.testing.assert_allclose(averaged(image, 3), by_blocks, atol=1e-6)
    np.testing.assert_allclose(averaged(image, 4).mean((1, 2)), image.mean((1, 2)), atol=1e-6)
    np.testing.assert_allclose(averaged(image, 6), image, atol=1e-6)


def test_alphabets_are_kept_apart():
    here = task(held_out_alphabets=2)
    learned, chosen = here.divided
    assert len(np.unique(learned.alphabets)) == 8
    assert len(np.unique(chosen.alphabets)) == 2
    assert not set(learned.alphabets) & set(chosen.alphabets)
    unseen = {image.tobytes() for image in here.unseen.images[:, 0]}
    assert not unseen & {image.tobytes() for part in (learned, chosen) for image in part.images[:, 0]}


def test_a_file_in_the_form_of_omniglot_is_read(tmp_path):
    images = RNG(0).integers(0, 2, (12, 10, 10)).astype(np.uint8)
    order = np.array([0, 2, 1, 3, 5, 4, 6, 7, 8, 9, 10, 11])  # characters may stand mixed
    character = np.repeat([1, 2, 1, 2], 3)[order]
    alphabet = np.repeat([0, 0, 1, 1], 3)[order]
    np.savez(tmp_path / "some.npz", images=np.packbits(images, -1), alphabet=alphabet, character=character)
    found = omniglot(tmp_path / "some.npz", 10)
    assert found.images.shape == (4, 3, 10, 10)
    assert found.alphabets.tolist() == [0, 0, 1, 1]
    assert np.array_equal(found.images[2], images[(alphabet == 1) & (character == 1)])


def test_what_is_no_such_file_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "text.npz").write_text("no")
    with pytest.raises(ValueError, match="no file of characters"):
        omniglot(tmp_path / "text.npz", 15)
    np.savez(tmp_path / "odd.npz", images=np.zeros((3, 4, 1), np.uint8), alphabet=[0, 0, 0], character=[1, 1, 2])
    with pytest.raises(ValueError, match="not drawn equally often"):
        omniglot(tmp_path / "odd.npz", 4)
    with pytest.raises(ValueError, match="too few"):
        episodes(numbered(4, 2), RNG(0), 1, 5, 1, 1)
    with pytest.raises(ValueError, match="cannot be held out"):
        numbered().divided(4)


def test_a_batch_is_the_same_whenever_it_is_drawn_and_parts_are_the_whole():
    here = task(shots=2)
    which = here.batches(1)[4]
    whole = here.load(which)
    parts = [here.load(part) for part in here.split(which, 3)]
    assert torch.equal(torch.cat([part.queries for part in parts]), whole.queries)
    assert torch.equal(torch.cat([part.names for part in parts]), whole.names)
    assert here.units(which) == sum(map(here.units, here.split(which, 3))) == 24
    assert {here.load(some).support.shape[1] for some in here.batches(1)[:20]} == {3, 6}, "one shot or two"


def test_it_is_measured_beside_the_nearest_pixels_and_looks_are_of_the_query():
    here = task(shots=2)
    torch.manual_seed(1)
    model = here.build().eval()
    with torch.no_grad():
        found = here.final(model)
        drawn = here.drawn(here.unseen, 2, 4)
        looks = here.looks(model, drawn)
    assert list(found) == ["3-way 1-shot", "3-way 2-shot"]
    for figures in found.values():
        assert 0 <= figures["right"] <= 1
        assert figures["nearest pixels"] > figures["chance"]
    assert looks is not None
    assert looks.shape == (4, 3, 6)
    assert bool((looks.sum(-1) < 1).all()), "some of it is the query's own"
    assert here.samples(model).count(">") == 4


@pytest.mark.skipif("REGARD_DATA" not in os.environ, reason="REGARD_DATA is not set")
def test_omniglot_is_as_large_as_it_is_known_to_be():
    file = Path(os.environ["REGARD_DATA"]) / "omniglot" / "evaluation_a.npz"
    if not file.is_file():
        pytest.skip("Omniglot is not there")
    found = omniglot(file, 15)
    assert found.images.shape == (346, 20, 15, 15)
    assert len(np.unique(found.alphabets)) == 10
    drawn = episodes(found, RNG(0), 300, 5, 1, 5)
    assert 0.35 < (nearest(drawn) == drawn.right).mean() < 0.65, "pixels alone name about half of them"
