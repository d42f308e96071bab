"""Problems made of points that somebody wrote down: Vinyals' files with answers, TSPLIB's cities with best lengths.

Vinyals et al. 2015 published lines of `x1 y1 x2 y2 … output 1 3 2 1`: points, counted from 1, and the right answer,
whose first point may stand there again at the end. TSPLIB (Reinelt 1991) has a file for each problem; a list of lines
`berlin52 : 7542` names those beside it and the length of the best round trip.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regard.files import BadFile
from regard.tasks.points import Answers, Points
from regard.text.lines import lines

EARTH = 6378.388  # km, as TSPLIB has it


@dataclass(frozen=True)
class Answered:
    """Problems of one size with their right answers."""

    points: Points  # b n d
    right: Answers


@dataclass(frozen=True)
class Cities:
    """A problem of TSPLIB: where cities are, how far is counted there, and how long the best round trip is."""

    name: str
    places: np.ndarray  # n 2
    kind: str
    best: float

    def within_a_square(self) -> np.ndarray:
        """The same map between 0 and 1, nothing stretched, as problems are that a model learns from."""
        low, high = self.places.min(0), self.places.max(0)
        return (self.places - low) / max(float((high - low).max()), 1e-12)  # type: ignore[no-any-return]

    def length(self, way: Sequence[int]) -> float:
        """Of a round trip, in whole units as TSPLIB counts; nan where a city is left out, or there twice."""
        if sorted(way) != list(range(len(self.places))):
            return float("nan")
        there = self.places[list(way)]
        return float(_FAR[self.kind](there, np.roll(there, -1, 0)).sum())

    def by_the_nearest(self) -> float:
        """How long it is when one goes on to the nearest city that is left: what an answer has to beat."""
        far, way = _FAR[self.kind](self.places[:, None], self.places[None]), [0]
        left = set(range(1, len(self.places)))
        while left:
            way.append(min(left, key=lambda city: float(far[way[-1], city])))
            left.remove(way[-1])
        return self.length(way)


def given(file: Path) -> list[Answered] | list[Cities]:
    """What a file holds: problems with answers, by size; or the cities that a list of best lengths names."""
    read = [(number, line) for number, line in enumerate(lines(file), 1) if line.strip()]
    if not read:
        raise BadFile(f"{file} is empty; give a file of problems")
    if "output" in read[0][1].split():
        return _answered(file, read)
    return [_cities(file, number, line) for number, line in read]


def _answered(file: Path, read: Sequence[tuple[int, str]]) -> list[Answered]:
    found: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
    for number, line in read:
        points, answer = _points_and_answer(file, number, line)
        found.setdefault(len(points), []).append((points, answer))
    return [
        Answered(np.stack([points for points, _ in some]), [answer for _, answer in some])
        for _, some in sorted(found.items())
    ]


def _points_and_answer(file: Path, number: int, line: str) -> tuple[np.ndarray, np.ndarray]:
    shown, _, answered = line.partition("output")
    try:
        points = np.array([float(word) for word in shown.split()]).reshape(-1, 2)
        answer = np.array([int(word) - 1 for word in answered.split()], np.int64)
    except ValueError:
        raise BadFile(
            f"{file}:{number}: this is not `x y x y … output 1 2 …`; mend the line, or leave it out"
        ) from None
    if len(answer) > 1 and answer[0] == answer[-1]:
        answer = answer[:-1]
    if not np.isfinite(points).all() or not len(answer) or answer.min() < 0 or answer.max() >= len(points):
        raise BadFile(
            f"{file}:{number}: the answer names points from 1 to {len(points)}, and there is something else; "
            "mend the line, or leave it out"
        )
    return points, answer


def _cities(file: Path, number: int, line: str) -> Cities:
    name, colon, best = (part.strip() for part in line.partition(":"))
    try:
        length = float(best)
    except ValueError:
        length = math.nan
    if not (colon and name and "/" not in name and length > 0):
        raise BadFile(f"{file}:{number}: this is not `name : best length`; mend the line, or leave it out")
    return _read_cities(file.parent / f"{name}.tsp", name, length)


def _read_cities(file: Path, name: str, best: float) -> Cities:
    """A file of TSPLIB: `KEY : value` lines, then a number and two coordinates for each city."""
    kind, count, places = "", 0, []
    for number, line in enumerate(_lines(file), 1):
        key, _, value = (part.strip() for part in line.partition(":"))
        if key == "EDGE_WEIGHT_TYPE":
            kind = value
        elif key == "DIMENSION" and value.isdigit():
            count = int(value)
        elif line[:1].isdigit() or line[:1].isspace():
            places += [_place(file, number, line)] if line.strip() and "EOF" not in line else []
    if kind not in _FAR:
        raise BadFile(
            f"{file}: distances of the kind {kind or '(none named)'!r}; known are {', '.join(_FAR)}: "
            "take its line out of the list"
        )
    if len(places) < 3 or len(places) != count:
        raise BadFile(f"{file}: DIMENSION is {count}, and there are {len(places)} cities; restore it from a copy")
    return Cities(name, np.array(places), kind, best)


def _lines(file: Path) -> Iterator[str]:
    if not file.is_file():
        raise BadFile(f"{file} is not there; put it beside the list that names it, or take its line out")
    return lines(file)


def _place(file: Path, number: int, line: str) -> tuple[float, float]:
    try:
        _, x, y = map(float, line.split())
    except ValueError:
        raise BadFile(f"{file}:{number}: this is not a city's number and two coordinates; restore it") from None
    return x, y


def _plane(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """EUC_2D: as the crow flies, to the nearest whole number."""
    return np.floor(np.sqrt(((a - b) ** 2).sum(-1)) + 0.5)  # type: ignore[no-any-return]


def _globe(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """GEO: coordinates are degrees and minutes, `DDD.MM`; kilometres on a ball, by TSPLIB's own π."""
    (lat_a, long_a), (lat_b, long_b) = (np.moveaxis(_radians(x), -1, 0) for x in (a, b))
    q1, q2, q3 = np.cos(long_a - long_b), np.cos(lat_a - lat_b), np.cos(lat_a + lat_b)
    angle = np.arccos(np.clip(0.5 * ((1 + q1) * q2 - (1 - q1) * q3), -1, 1))
    return np.floor(EARTH * angle + 1) * (a != b).any(-1)  # type: ignore[no-any-return]


def _radians(x: np.ndarray) -> np.ndarray:
    degrees = np.trunc(x)
    return 3.141592 * (degrees + 5 * (x - degrees) / 3) / 180  # type: ignore[no-any-return]


_FAR = {"EUC_2D": _plane, "GEO": _globe}
