"""Problems whose answer is an order of their own inputs, each with an exact solver. NumPy only.

A solver takes many problems at once, `b n d`, and answers with a row of indices each. Every answer is the one
canonical way to say it, so that one answer is right and not a dozen. Vinyals, Fortunato & Jaitly 2015, section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

Points = np.ndarray  # b n d
Answers = list[np.ndarray]
Measure = Callable[[np.ndarray, Sequence[int], np.ndarray], float]


@dataclass(frozen=True)
class Problem:
    """What is asked of some points: the numbers of each, the right answer, and what counts besides being right."""

    name: str
    width: int
    solve: Callable[[Points], Answers]
    order: str
    """Which answers can be right: `some` of the points, each once; `all` of them, each once; or `any`."""
    measures: dict[str, Measure] = field(default_factory=dict)
    """Figures of one answer: (points, answer, right answer)."""
    largest: int = 200
    """The most points that can be solved exactly."""

    def draw(self, rng: np.random.Generator, count: int, points: int) -> Points:
        """Problems drawn evenly from the unit square, or line."""
        return rng.random((count, points, self.width))


# Sorting.


def sort(points: Points) -> Answers:
    """From the smallest to the largest."""
    return list(np.argsort(points[..., 0], axis=1, kind="stable"))


# Convex hulls.


def hull(points: Points) -> Answers:
    """Corners of each convex hull counter-clockwise, from the one that comes first among the points."""
    return [hull_of(each) for each in points]


def hull_of(points: np.ndarray) -> np.ndarray:
    """By Andrew's monotone chain: lower side, then upper side."""
    order = np.lexsort((points[:, 1], points[:, 0]))
    sides = [_chain(points, order), _chain(points, order[::-1])]
    corners = np.array([*sides[0][:-1], *sides[1][:-1]])
    return np.roll(corners, -int(np.argmin(corners)))


def _chain(points: np.ndarray, order: np.ndarray) -> list[int]:
    found: list[int] = []
    for new in order:
        while len(found) > 1 and _turn(points[found[-2]], points[found[-1]], points[new]) <= 0:
            found.pop()
        found.append(int(new))
    return found


def _turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    """Above 0 where the way a, b, c turns left."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def area(points: np.ndarray, corners: Sequence[int]) -> float:
    """What a polygon covers; nan where its sides cross, or it is none."""
    if len(corners) < 3 or len(set(corners)) < len(corners) or crosses(points, corners):
        return float("nan")
    x, y = points[list(corners)].T
    return float(abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2)


def crosses(points: np.ndarray, corners: Sequence[int]) -> bool:
    """Whether two sides of a polygon cut each other."""
    sides = [(points[a], points[b]) for a, b in zip(corners, [*corners[1:], corners[0]], strict=True)]
    for (one, (a, b)), (other, (c, d)) in combinations(enumerate(sides), 2):
        near = other - one == 1 or (one == 0 and other == len(sides) - 1)
        if not near and _turn(a, b, c) * _turn(a, b, d) < 0 and _turn(c, d, a) * _turn(c, d, b) < 0:
            return True
    return False


def share_of_area(points: np.ndarray, answer: Sequence[int], right: np.ndarray) -> float:
    """How much of the true hull an answer covers; nan where it is no simple polygon."""
    return area(points, answer) / area(points, [int(corner) for corner in right])


# Round trips.


def tour(points: Points) -> Answers:
    """The shortest round trips, from the first point, on to whichever of its two neighbours comes first.

    Held & Karp 1962: the cheapest way through each set of points to each of its last ones, set by set, for all
    problems at once.
    """
    batch, count = points.shape[:2]
    if count < 4:
        return [np.arange(count)] * batch
    far = distances(points)
    rest = count - 1  # the first point is the start, and in no set
    costs = np.full((1 << rest, batch, rest), np.inf)
    before = np.zeros((1 << rest, batch, rest), np.int64)
    for last in range(rest):
        costs[1 << last, :, last] = far[:, 0, last + 1]
    for some in range(1, 1 << rest):
        members = [one for one in range(rest) if some >> one & 1]
        for last in members if len(members) > 1 else ():
            without = costs[some ^ (1 << last)] + far[:, 1:, last + 1]
            before[some, :, last] = without.argmin(1)
            costs[some, :, last] = without.min(1)
    return _ways(costs[-1] + far[:, 1:, 0], before)


def _ways(whole: np.ndarray, before: np.ndarray) -> Answers:
    """Back from the last point of each, set by set."""
    batch, rest = whole.shape
    rows, some, last = np.arange(batch), np.full(batch, (1 << rest) - 1), whole.argmin(1)
    ways = np.zeros((batch, rest + 1), np.int64)
    for place in range(rest, 0, -1):
        ways[:, place] = last + 1
        some, last = some ^ (1 << last), before[some, rows, last]
    turned = ways[:, 1] > ways[:, -1]
    ways[turned, 1:] = ways[turned, :0:-1]
    return list(ways)


def distances(points: Points) -> np.ndarray:
    """Between every two points."""
    return np.asarray(np.sqrt(((points[..., :, None, :] - points[..., None, :, :]) ** 2).sum(-1)))


def length(points: np.ndarray, way: Sequence[int]) -> float:
    """Of a round trip; nan where a point is left out, or there twice."""
    if sorted(way) != list(range(len(points))):
        return float("nan")
    there = points[list(way)]
    return float(np.sqrt(((there - np.roll(there, -1, 0)) ** 2).sum(1)).sum())


def length_of_tour(points: np.ndarray, answer: Sequence[int], right: np.ndarray) -> float:
    """How long an answer's round trip is."""
    return length(points, answer)


# Delaunay triangulations.


def delaunay(points: Points) -> Answers:
    """Corners of every triangle whose circle holds no point: smallest first, in each and among them."""
    triples = np.array(list(combinations(range(points.shape[1]), 3)))
    corners = points[:, triples]  # b t 3 2
    empty = np.ones((len(points), len(triples)), bool)
    a, b, c = (corners[:, :, which] for which in range(3))
    left = np.sign(
        (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (c[..., 0] - a[..., 0])
    )
    for other in range(points.shape[1]):
        table = corners - points[:, None, None, other]
        inside = np.linalg.det(np.concatenate((table, (table**2).sum(-1, keepdims=True)), -1)) * left > 0
        empty &= ~inside | (triples == other).any(1)
    return [triples[each].ravel() for each in empty]


def triangles(answer: Sequence[int]) -> set[tuple[int, ...]]:
    """What an answer says, whatever its order."""
    return {tuple(sorted(answer[at : at + 3])) for at in range(0, len(answer) - 2, 3)}


def share_of_triangles(points: np.ndarray, answer: Sequence[int], right: np.ndarray) -> float:
    """How many of the right triangles an answer has."""
    wanted = triangles(right.tolist())
    return len(wanted & triangles(answer)) / max(1, len(wanted))


PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem("sort", 1, sort, "all", largest=10_000),
        Problem("hull", 2, hull, "some", {"area": share_of_area}, largest=10_000),
        Problem("tour", 2, tour, "all", {"length": length_of_tour}, largest=13),
        Problem("delaunay", 2, delaunay, "any", {"coverage": share_of_triangles}, largest=30),
    )
}
