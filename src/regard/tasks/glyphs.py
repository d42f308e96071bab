"""Drawings of characters, and episodes made of them: some with their names, then others to be named. NumPy only.

Omniglot (Lake, Salakhutdinov & Tenenbaum 2015) from its file, or characters made of random strokes.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

PAPER = 105  # pixels a side of Omniglot's drawings


@dataclass(frozen=True)
class Glyphs:
    """Characters, each drawn by as many people; ink is 1."""

    images: np.ndarray  # characters drawings side side
    alphabets: np.ndarray  # characters

    def __len__(self) -> int:
        return len(self.images)

    def of(self, alphabets: np.ndarray) -> Glyphs:
        """The characters of some alphabets."""
        kept = np.isin(self.alphabets, alphabets)
        return Glyphs(self.images[kept], self.alphabets[kept])

    def divided(self, last: int) -> tuple[Glyphs, Glyphs]:
        """All but the last alphabets, and the last."""
        names = np.unique(self.alphabets)
        if last >= len(names):
            raise ValueError(
                f"{last} alphabets cannot be held out of {len(names)}; give a smaller --data.held-out-alphabets"
            )
        return self.of(names[:-last]), self.of(names[-last:])


@dataclass(frozen=True)
class Episodes:
    """Images with their names, and images to be named; names are numbers below `ways`, drawn anew every time."""

    support: np.ndarray  # b s side side
    names: np.ndarray  # b s
    queries: np.ndarray  # b q side side
    right: np.ndarray  # b q

    def some(self, first: int, after: int) -> Episodes:
        """Some of them."""
        parts = (self.support, self.names, self.queries, self.right)
        return Episodes(*(part[first:after] for part in parts))


def omniglot(file: Path, side: int) -> Glyphs:
    """Omniglot's file: packed bits of `images`, and for each its `alphabet` and `character`; averaged to `side`."""
    try:
        with np.load(file, allow_pickle=False) as found:
            packed, alphabet, character = (found[name] for name in ("images", "alphabet", "character"))
    except (ValueError, KeyError, TypeError, EOFError, OSError, zipfile.BadZipFile):
        raise ValueError(
            f"{file} is no file of characters; it should be an .npz with images (packed bits), alphabet and character"
        ) from None
    ids, counts = np.unique(np.stack((alphabet, character), 1).astype(np.int64), axis=0, return_counts=True)
    if packed.ndim != 3 or not len(ids) or counts.min() != counts.max():
        raise ValueError(f"{file} has characters that were not drawn equally often; give a file with as many of each")
    order = np.lexsort((np.arange(len(packed)), character, alphabet))
    small = averaged(np.unpackbits(packed, axis=-1)[order, :, : packed.shape[1]], side)
    return Glyphs(small.reshape(len(ids), int(counts[0]), side, side), ids[:, 0])


def averaged(images: np.ndarray, side: int) -> np.ndarray:
    """Images made smaller: each new pixel is the mean of the area it covers."""
    before = images.shape[-1]
    edges = np.arange(side + 1) * before / side
    lows, highs = (
        np.maximum(edges[:-1, None], np.arange(before)),
        np.minimum(edges[1:, None], np.arange(1, before + 1)),
    )
    share = (np.maximum(highs - lows, 0) * side / before).astype(np.float32)  # side, before
    return np.stack([share @ image.astype(np.float32) @ share.T for image in images])


@lru_cache(maxsize=4)
def strokes(seed: int, alphabets: int, characters: int, drawings: int, side: int) -> Glyphs:
    """Characters of two or three random strokes; every drawing has them a little elsewhere."""
    rng = np.random.default_rng(seed)
    made = np.stack([_drawn(rng, drawings, side) for _ in range(alphabets * characters)])
    return Glyphs(made, np.repeat(np.arange(alphabets), characters))


def _drawn(rng: np.random.Generator, drawings: int, side: int) -> np.ndarray:
    """One character, so many times: curves through three points each, as ink around them."""
    points = rng.uniform(0.1, 0.9, (1, int(rng.integers(2, 4)), 3, 2)) + rng.normal(0, 0.05, (drawings, 1, 1, 2))
    points = points + rng.normal(0, 0.03, (drawings, *points.shape[1:]))
    along = np.linspace(0, 1, 24)[:, None]
    bends = np.concatenate(((1 - along) ** 2, 2 * along * (1 - along), along**2), 1)  # a curve's three weights
    ink = np.einsum("tc,nscd->nstd", bends, points).reshape(drawings, -1, 2)
    centres = (np.arange(side) + 0.5) / side
    near = np.exp(-0.5 * ((ink[..., None] - centres) / 0.04) ** 2)  # n t 2 side
    return np.asarray(np.einsum("nty,ntx->ntyx", near[:, :, 0], near[:, :, 1]).max(1), np.float32)


def episodes(
    glyphs: Glyphs, rng: np.random.Generator, count: int, ways: int, shots: int, queries: int, turns: int = 1
) -> Episodes:
    """So many episodes. With 4 `turns` each quarter turn of a character is a character of its own."""
    total, drawings = len(glyphs) * turns, glyphs.images.shape[1]
    if ways > total or shots + 1 > drawings:
        raise ValueError(
            f"{len(glyphs)} characters drawn {drawings} times are too few for {ways} ways and {shots} shots; "
            "give more of them, or ask for fewer"
        )
    chosen = np.argsort(rng.random((count, total)), 1)[:, :ways]
    hands = np.argsort(rng.random((count, ways, drawings)), 2)
    names, shot = np.divmod(np.argsort(rng.random((count, ways * shots)), 1), shots)  # each in an order of its own
    right = rng.integers(0, ways, (count, queries))
    other = rng.integers(shots, drawings, (count, queries))  # never one of those shown
    rows = np.arange(count)[:, None]

    def images(names: np.ndarray, place: np.ndarray) -> np.ndarray:
        which, turn = np.divmod(chosen[rows, names], turns)
        return turned(glyphs.images[which, hands[rows, names, place]], turn)

    return Episodes(images(names, shot), names, images(right, other), right)


def turned(images: np.ndarray, quarters: np.ndarray) -> np.ndarray:
    """Each image turned by so many quarters."""
    found = images.copy()
    for turn in (1, 2, 3):
        found[quarters == turn] = np.rot90(images[quarters == turn], turn, (-2, -1))
    return found


def nearest(given: Episodes) -> np.ndarray:
    """The base line: the name of the image whose pixels are nearest."""
    shown = given.support.reshape(*given.names.shape, -1)
    asked = given.queries.reshape(*given.right.shape, -1)
    far = (shown**2).sum(-1)[:, None] - 2 * asked @ shown.transpose(0, 2, 1)  # the query's own length is the same
    return np.take_along_axis(given.names, far.argmin(-1), 1)
