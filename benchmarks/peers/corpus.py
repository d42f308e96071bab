"""The batches that all train on: Multi30k's where it lies under REGARD_DATA, else random words of like lengths."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regard.text.batch import padded, plan
from regard.text.pieces import Pieces
from regard.text.places import located
from regard.text.read import lines

FILES = [Path("$REGARD_DATA/multi30k/tok") / f"train.lc.norm.tok.{language}.gz" for language in ("en", "de")]
WORDS, PAIRS, BUDGET = 10_000, 29_000, 4096
LOG_MEAN, LOG_SPREAD, LIKE = (2.58, 2.58), (0.31, 0.34), 0.86  # of Multi30k's lengths, in pieces; and their likeness

Rows = list[np.ndarray]


@dataclass(frozen=True)
class Batches:
    """Chosen batches in a file, and what is known of them: lengths of each pair, END counted in the target's."""

    file: Path
    says: str
    lengths: list[list[tuple[int, int]]]
    padding: float

    @property
    def tokens(self) -> int:
        return sum(target for batch in self.lengths for _, target in batch)


def choose(count: int, to: Path, seed: int) -> Batches:
    """So many batches, spread evenly over all of them from the shortest sentences to the longest."""
    (sources, targets), says = _pairs(seed)
    source_lengths, target_lengths = (np.array([len(row) for row in rows]) for rows in (sources, targets))
    planned = sorted(
        plan(source_lengths, target_lengths, BUDGET, seed, 0),
        key=lambda which: int(source_lengths[which].sum() + target_lengths[which].sum()) / len(which),
    )
    chosen = [planned[int((i + 0.5) * len(planned) / count)] for i in range(count)]
    chosen = [
        which[np.argsort(-source_lengths[which], kind="stable")] for which in chosen
    ]  # some want the longest first
    tables = {f"source{i}": padded([sources[j] for j in which]) for i, which in enumerate(chosen)}
    tables |= {f"target{i}": padded([targets[j] for j in which]) for i, which in enumerate(chosen)}
    np.savez(to, **tables)
    lengths = [[(len(sources[j]), len(targets[j]) + 1) for j in which] for which in chosen]
    cells = sum(table.size for table in tables.values()) + sum(map(len, chosen))  # END has its place too
    real = sum(source + target for batch in lengths for source, target in batch)
    return Batches(to, says, lengths, 1 - real / cells)


def _pairs(seed: int) -> tuple[tuple[Rows, Rows], str]:
    try:
        files = [located(file) for file in FILES]
    except ValueError:
        return _generated(
            seed
        ), f"random words with the lengths of Multi30k, {PAIRS} pairs (REGARD_DATA has no Multi30k)"
    texts = [list(lines(file)) for file in files]
    with tempfile.TemporaryDirectory() as folder:
        pieces = Pieces.train([line for side in texts for line in side], WORDS, Path(folder) / "pieces.model")
    source, target = ([np.array(row, np.int64) for row in pieces.encode(side)] for side in texts)
    return (
        source,
        target,
    ), f"Multi30k en-de, lower-case and tokenised, {len(source)} pairs, {len(pieces)} joint pieces"


def _generated(seed: int) -> tuple[Rows, Rows]:
    rng = np.random.default_rng(seed)
    drawn = rng.multivariate_normal([0, 0], [[1, LIKE], [LIKE, 1]], PAIRS)
    sides: Sequence[np.ndarray] = (
        np.exp(np.array(LOG_MEAN) + np.array(LOG_SPREAD) * drawn).round().clip(1, 60).astype(int).T
    )
    frequent = 1 / np.arange(1, WORDS - 3)  # Zipf
    frequent /= frequent.sum()
    source, target = ([4 + rng.choice(len(frequent), n, p=frequent) for n in side] for side in sides)
    return source, target
