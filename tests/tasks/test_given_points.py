"""Problems of files: what a line means, what is refused, and that the published answers are our solver's."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.files import BadFile
from regard.models.settings import PointerModel
from regard.search.settings import Search
from regard.tasks.given_points import Answered, Cities, given
from regard.tasks.pointing import PointingTask
from regard.tasks.points import hull
from regard.tasks.settings import PointData

SQUARE = "0 0 1 0 1 1 0 1 0.5 0.5 output 1 2 3 4 1 \n"
CITIES = """NAME: four
TYPE: TSP
DIMENSION : 4
EDGE_WEIGHT_TYPE : EUC_2D
NODE_COORD_SECTION
1 0 0
2 3 0
3 3.0e0 4
4 0 4
EOF
"""


def written(folder: Path, text: str, name: str = "problems.txt") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def task(problem: str, file: Path) -> PointingTask:
    data = PointData(problem=problem, smallest=4, largest=4, held_out_rows=4, test_problems=file)
    return PointingTask(data, PointerModel(width=16), Search(beam=2, length_penalty=0.0), seed=1)


def test_a_line_is_points_and_the_right_answer(tmp_path):
    (found,) = given(written(tmp_path, SQUARE * 2))
    assert isinstance(found, Answered)
    assert found.points.shape == (2, 5, 2)
    assert found.right[0].tolist() == [0, 1, 2, 3]  # the first is not said again at the end
    assert hull(found.points)[0].tolist() == [0, 1, 2, 3]


def test_cities_and_their_distances(tmp_path):
    written(tmp_path, CITIES, "four.tsp")
    (cities,) = given(written(tmp_path, "four : 14\n"))
    assert isinstance(cities, Cities)
    assert cities.length([0, 1, 2, 3]) == 14
    assert cities.length([0, 2, 1, 3]) == 5 + 4 + 5 + 4
    assert np.isnan(cities.length([0, 1, 2, 2]))
    assert cities.by_the_nearest() == 14
    assert cities.within_a_square().max() == 1
    assert cities.within_a_square()[2].tolist() == [0.75, 1]  # nothing stretched


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty; give a file of problems"),
        (SQUARE + "0 0 1 output 1\n", r":2: this is not `x y x y … output 1 2 …`"),
        (SQUARE + "0 0 1 1 0 1 output 1 4\n", r":2: the answer names points from 1 to 3"),
        (SQUARE + "0 0 1 1 0 1 output 0 1\n", r":2: the answer names points from 1 to 3"),
        (SQUARE + "0 nan 1 1 0 1 output 1 2\n", r":2: the answer names"),
        (SQUARE + "0 0 1 1 0 1\n", r":2: the answer names"),
        ("four 14\n", r":1: this is not `name : best length`"),
        ("four : nan\n", r":1: this is not `name : best length`"),
        ("../four : 14\n", r":1: this is not `name : best length`"),
        ("five : 14\n", r"five\.tsp is not there; put it beside the list"),
        ("short : 14\n", r"short\.tsp: DIMENSION is 9, and there are 4 cities"),
        ("torn : 14\n", r"torn\.tsp:8: this is not a city's number and two coordinates"),
        ("odd : 14\n", r"odd\.tsp: distances of the kind 'MAN_2D'; known are EUC_2D, GEO"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(tmp_path, text, said):
    written(tmp_path, CITIES.replace(": 4", ": 9"), "short.tsp")
    written(tmp_path, CITIES.replace("3 3.0e0 4", "3 3.0e0"), "torn.tsp")
    written(tmp_path, CITIES.replace("EUC", "MAN"), "odd.tsp")
    with pytest.raises(BadFile, match=said):
        given(written(tmp_path, text))


def test_a_file_of_another_problem_is_refused_before_training(tmp_path):
    written(tmp_path, CITIES, "four.tsp")
    with pytest.raises(ValueError, match=r"no problems of the kind data\.problem = 'hull'; leave it out"):
        task("hull", written(tmp_path, "four : 14\n")).prepare(tmp_path)
    with pytest.raises(ValueError, match=r"no problems of the kind data\.problem = 'sort'"):
        task("sort", written(tmp_path, SQUARE)).prepare(tmp_path)


def test_given_problems_are_measured_beside_drawn_ones(tmp_path):
    torch.manual_seed(1)
    here = task("hull", written(tmp_path, SQUARE * 3))
    found = here.final(here.build().eval())
    assert list(found) == ["n=4", "given, n=5"]
    assert set(found["given, n=5"]) == {"exact", "area", "no area"}
    written(tmp_path, CITIES, "four.tsp")
    here = task("tour", written(tmp_path, "four : 14\n"))
    found = here.final(here.build().eval())["four"]
    assert found["length"] in (14.0, 16.0, 18.0)
    assert found["over the best"] == pytest.approx(found["length"] / 14)


SHARED = Path(os.environ.get("REGARD_DATA", "/nowhere")) / "pointer"


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published problems are not here")
def test_published_answers_are_those_of_our_solver():
    (found,) = given(SHARED / "convex_hull_5_test.first8000.txt.gz")
    assert isinstance(found, Answered)
    ours = hull(found.points)
    same = [a.tolist() == b.tolist() for a, b in zip(ours, found.right, strict=True)]
    assert np.mean(same) > 0.999


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published problems are not here")
def test_no_round_trip_is_shorter_than_the_best():
    found = given(SHARED / "tsplib" / "optimal.txt")
    assert len(found) == 15
    assert all(isinstance(one, Cities) and one.best <= one.by_the_nearest() < 1.6 * one.best for one in found)
