"""Solvers of problems made of points, against slower ways to the same answer."""

from __future__ import annotations

import gzip
import os
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest

from regard.tasks.points import PROBLEMS, area, crosses, delaunay, hull, length, sort, tour, triangles

RNG = np.random.default_rng


def test_sorting_is_sorting():
    points = RNG(1).random((50, 9, 1))
    assert all(np.all(np.diff(each[order, 0]) > 0) for each, order in zip(points, sort(points), strict=True))


@pytest.mark.parametrize("count", [3, 4, 5, 8, 12])
def test_a_hull_holds_every_point_and_turns_left_from_its_first_corner(count):
    points = RNG(count).random((40, count, 2))
    for each, corners in zip(points, hull(points), strict=True):
        assert corners[0] == min(corners)
        ring = each[[*corners, corners[0]]]
        for a, b in pairwise(ring):
            side = (b[0] - a[0]) * (each[:, 1] - a[1]) - (b[1] - a[1]) * (each[:, 0] - a[0])
            assert side.min() >= -1e-12, "a point lies outside"


def test_a_square_with_a_point_inside():
    points = np.array([[0.5, 0.5], [1, 1], [0, 0], [1, 0], [0, 1]])
    assert hull(points[None])[0].tolist() == [1, 4, 2, 3]
    assert area(points, [1, 4, 2, 3]) == 1.0
    assert crosses(points, [1, 2, 3, 4])
    assert not crosses(points, [1, 4, 2, 3])
    assert np.isnan(area(points, [1, 2, 3, 4]))
    assert np.isnan(area(points, [1, 2]))
    assert np.isnan(area(points, [1, 1, 2]))


@pytest.mark.parametrize("count", [4, 5, 7])
def test_a_tour_is_the_shortest_of_all(count):
    points = RNG(count).random((12, count, 2))
    for each, way in zip(points, tour(points), strict=True):
        assert way[0] == 0
        assert way[1] < way[-1]
        shortest = min(length(each, (0, *rest)) for rest in permutations(range(1, count)))
        assert length(each, way.tolist()) == pytest.approx(shortest, abs=1e-12)


def test_mean_lengths_are_those_of_the_paper():
    """Vinyals et al. 2015, table 2: the optimum is 2.12 for five points and 2.87 for ten."""
    points = RNG(0).random((4000, 5, 2))
    assert np.mean([length(p, w.tolist()) for p, w in zip(points, tour(points), strict=True)]) == pytest.approx(
        2.12, abs=0.02
    )
    points = RNG(0).random((200, 10, 2))
    assert np.mean([length(p, w.tolist()) for p, w in zip(points, tour(points), strict=True)]) == pytest.approx(
        2.87, abs=0.06
    )


def test_what_is_no_tour_has_no_length():
    points = RNG(1).random((5, 2))
    assert np.isnan(length(points, [0, 1, 2, 3]))
    assert np.isnan(length(points, [0, 1, 2, 3, 3]))


@pytest.mark.parametrize("count", [3, 5, 9])
def test_triangles_of_delaunay_have_empty_circles_and_fill_the_hull(count):
    points = RNG(count).random((20, count, 2))
    for each, answer in zip(points, delaunay(points), strict=True):
        covered = 0.0
        for corners in triangles(answer.tolist()):
            covered += area(each, list(corners))
            a, b, c = each[list(corners)]
            table = 2 * np.array([b - a, c - a])
            centre = np.linalg.solve(table, [b @ b - a @ a, c @ c - a @ a])
            outside = np.delete(each, list(corners), axis=0)
            assert np.all(np.linalg.norm(outside - centre, axis=1) >= np.linalg.norm(a - centre) - 1e-9)
        assert covered == pytest.approx(area(each, hull(each[None])[0].tolist()))


def test_figures_tell_a_good_answer_from_a_bad_one():
    points = RNG(3).random((6, 2))
    right = hull(points[None])[0]
    share = PROBLEMS["hull"].measures["area"]
    assert share(points, right.tolist(), right) == pytest.approx(1.0)
    found = delaunay(points[None])[0]
    coverage = PROBLEMS["delaunay"].measures["coverage"]
    assert coverage(points, found.tolist(), found) == 1.0
    assert coverage(points, found.tolist()[3:], found) == pytest.approx(1 - 3 / len(found))


@pytest.mark.skipif("REGARD_DATA" not in os.environ, reason="REGARD_DATA is not set")
def test_hulls_are_those_of_the_papers_own_file():
    file = Path(os.environ["REGARD_DATA"]) / "pointer" / "convex_hull_5_test.first8000.txt.gz"
    if not file.is_file():
        pytest.skip("the file of convex hulls is not there")
    with gzip.open(file, "rt") as lines:
        rows = [next(lines).split() for _ in range(500)]
    for row in rows:
        at = row.index("output")
        points = np.array(row[:at], float).reshape(-1, 2)
        theirs = [int(word) - 1 for word in row[at + 1 : -1]]
        assert hull(points[None])[0].tolist() == theirs
