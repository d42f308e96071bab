"""What a block of translations is written as: text, JSON, n-best lists, alignments, scores, weights."""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from regard.translate.align import moses
from regard.translate.lines import Block, Output
from regard.translate.result import Result

Writer = Callable[[Block, Sequence[Result]], None]


def plain(output: Output) -> Writer:
    """A line for a line; the last has a line feed if the source's last has."""
    return lambda block, results: output.write([result.text for result in results], block.ended)


def objects(output: Output) -> Writer:
    """An object of JSON for a line."""
    return lambda block, results: output.write([json.dumps(as_json(one), ensure_ascii=False) for one in results])


def lists(output: Output) -> Writer:
    """A line for each translation: which line of the source, counted from 0, the text, its score (Moses)."""

    def write(block: Block, results: Sequence[Result]) -> None:
        for number, result in enumerate(results, start=block.number - 1):
            output.write([f"{number} ||| {one.text} ||| {one.score:.6f}" for one in result.nbest])

    return write


def alignments(output: Output) -> Writer:
    """Word links for a line; none for an empty one."""
    return lambda block, results: output.write([moses(result.alignment or ()) for result in results])


def scores(output: Output) -> Writer:
    """A number for a line; nan where nothing was translated."""
    return lambda block, results: output.write([f"{result.score:.6f}" for result in results])


@contextmanager
def weights(path: Path) -> Iterator[Writer]:
    """All attention in one .npz: `3.weights`, `3.source`, `3.target` for line 3; `3.1.weights` for a second part."""
    with zipfile.ZipFile(path, "w") as archive:

        def write(block: Block, results: Sequence[Result]) -> None:
            for number, result in enumerate(results, start=block.number):
                seen = [part for part in result.parts if part.attention is not None]
                for at, part in enumerate(seen):
                    name = f"{number}" if len(seen) == 1 else f"{number}.{at}"
                    assert part.attention is not None
                    _add(archive, f"{name}.weights", part.attention.numpy())
                    _add(archive, f"{name}.source", np.array(part.source_tokens))
                    _add(archive, f"{name}.target", np.array(part.tokens))

        yield write


def _add(archive: zipfile.ZipFile, name: str, array: np.ndarray) -> None:
    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
        np.lib.format.write_array(file, array, allow_pickle=False)


def as_json(result: Result) -> dict[str, Any]:
    """All that is known of a translation but its weights."""
    found: dict[str, Any] = {
        "text": result.text,
        "score": None if math.isnan(result.score) else result.score,
        "source_tokens": result.source_tokens,
        "tokens": result.tokens,
        "token_scores": result.scores,
        "complete": result.complete,
        "suspect": result.suspect,
        "parts": [[part.start, part.end] for part in result.parts],
    }
    if result.alignment is not None:
        found["alignment"] = result.alignment
    if len(result.nbest) > 1:
        found["nbest"] = [{"text": one.text, "score": one.score} for one in result.nbest]
    return found
