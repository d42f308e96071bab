"""Crop mapping: fields, their crops, and who is looked at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from regard.models.crop_settings import CropModel
from regard.show.seasons import mapped
from regard.tasks.crop_settings import CropData
from regard.tasks.crops import CropMapping, kappa
from regard.tasks.drawn import Some
from regard.tasks.seasons import Fields, made_up, nearest, read_fields


def test_made_up_fields_are_the_same_for_everyone_and_a_crop_is_recognised_by_its_time() -> None:
    one, other = (made_up(np.random.default_rng(3), 300, 4, 30) for _ in range(2))
    assert np.array_equal(one.series, other.series)
    assert one.series.shape == (300, 30, 1)
    assert set(one.crops) == {0, 1, 2, 3}
    seen = np.where(one.series[..., 0] > -0.05, one.series[..., 0], 0)  # without clouds
    when = (seen * np.arange(30)).sum(1) / seen.sum(1)
    assert np.mean(when[one.crops == 0]) < np.mean(when[one.crops == 3])


def test_the_nearest_field_is_found_date_by_date() -> None:
    known = Fields(np.array([[[0.0], [1.0]], [[1.0], [0.0]]], np.float32), np.array([4, 7]))
    asked = Fields(np.array([[[0.2], [0.9]], [[0.8], [0.3]], [[5.0], [0.0]]], np.float32), np.array([0, 0, 0]))
    assert nearest(known, asked).tolist() == [4, 7, 7]


def test_kappa_by_hand() -> None:
    """Three of four right; by chance (2·1 + 2·3) / 16 = 1/2 would be, so 0.25 / 0.5."""
    assert kappa(np.array([0, 1, 1, 1]), np.array([0, 0, 1, 1])) == pytest.approx(0.5)
    assert kappa(np.array([1, 1]), np.array([1, 1])) == 1.0


@pytest.mark.parametrize(
    ("stored", "why"),
    [
        ({"x": np.zeros((2, 5))}, "is not an .npz with `x` and `y`"),
        ({"x": np.zeros((2, 5)), "y": np.ones(3)}, r"`x` has the shape \(2, 5\) and `y` \(3,\)"),
        ({"x": np.full((2, 5), np.nan), "y": np.ones(2)}, "is not finite; fill"),
        ({"x": np.array([object()]), "y": np.ones(1)}, "is not an .npz"),
    ],
    ids=["no crops", "other counts", "nan", "a pickle"],
)
def test_a_file_that_is_none_is_refused_in_a_sentence(
    stored: dict[str, np.ndarray], why: str, tmp_path: Path
) -> None:
    np.savez(tmp_path / "fields.npz", **stored)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=why):
        read_fields(tmp_path / "fields.npz")
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(ValueError, match="is not an"):
        read_fields(tmp_path / "text.npz")


def task() -> CropMapping:
    return CropMapping(
        CropData(crops=3, dates=12, rows=32, held_out_rows=60), CropModel(width=16, heads=2, dropout=0.0), 0.0, 1
    )


def test_a_field_alone_is_named_as_among_others_and_parts_are_the_whole() -> None:
    mapping = task()
    torch.manual_seed(0)
    model = mapping.build().eval()
    batch = mapping.load(Some(0, 0, 0, 32))
    alone = torch.cat([model(one) for one in batch.series.split(1)])
    torch.testing.assert_close(alone, model(batch.series), atol=1e-5, rtol=0)
    halves = [mapping.load(part) for part in mapping.split(Some(0, 0, 0, 32))]
    assert torch.equal(torch.cat([half.series for half in halves]), batch.series)


def test_it_learns_and_beats_chance_by_far() -> None:
    mapping = task()
    torch.manual_seed(0)
    model = mapping.build()
    rule = torch.optim.Adam(model.parameters(), 3e-3)
    for number in range(80):
        rule.zero_grad()
        (mapping.loss(model, mapping.load(Some(0, number, 0, 32)), "model").total / 32).backward()
        rule.step()
    model.eval()
    with torch.no_grad():
        found = mapping.final(model)["test"]
    assert found["right"] > 0.8
    assert found["kappa"] > 0.7
    figure = Figure()
    with torch.no_grad():
        mapped(figure, mapping, model)
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert sum(len(axes.patches) for axes in panels) == 3 * 12  # a bar for each date of each crop's field
    assert sum(len(axes.lines) for axes in panels) == 3
    assert mapping.looks(model, mapping.unseen.some(np.arange(2))).shape == (2, 2, 12, 12)
