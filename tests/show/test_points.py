"""What an answer joins, in which order, and where its points are drawn."""

from __future__ import annotations

import numpy as np

from regard.show.points import in_a_plane, sides


def test_a_way_ends_where_it_began():
    assert sides("hull", [4, 1, 2]) == [(4, 1, 1), (1, 2, 2), (2, 4, 3)]
    assert sides("tour", [3]) == []


def test_a_row_does_not():
    assert sides("sort", [4, 1, 2]) == [(4, 1, 1), (1, 2, 2)]


def test_a_triangle_is_there_with_its_last_corner():
    assert sides("delaunay", [0, 1, 2, 1, 2, 3]) == [
        (0, 1, 2), (0, 2, 2), (1, 2, 2), (1, 2, 5), (1, 3, 5), (2, 3, 5)
    ]  # fmt: skip
    assert sides("delaunay", [0, 1]) == []


def test_numbers_are_as_far_right_as_they_are_large():
    plane = in_a_plane(np.array([[0.5], [0.1], [0.9]]))
    assert plane[:, 0].tolist() == [0.5, 0.1, 0.9]
    assert plane[:, 1].tolist() == [1.0, 0.5, 0.0]  # as they were given, from above
