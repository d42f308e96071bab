"""A corpus as numbers on disk, read by place: ten million pairs need hardly more memory than ten."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from jaxtyping import Int, Int32, Int64

from regard.text.binarise import Numbered, Pair, binarised
from regard.text.cache import seal
from regard.text.encode import Encoder
from regard.text.numbers import Numbers
from regard.text.pieces import nothing
from regard.text.read import BadText

_FILES = ("source.ids", "source.offsets", "target.ids", "target.offsets", "lines")
_FIRST = 5  # line numbers kept for each reason
_AT_ONCE = 2**20  # offsets read at once


class BadCorpus(ValueError):
    """A folder that is not a complete corpus; the message says why."""


@dataclass(frozen=True)
class _Skipped:
    """What was left out, by reason, with the first line numbers."""

    reasons: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, reason: str, line: int) -> None:
        entry = self.reasons.setdefault(reason, {"count": 0, "lines": []})
        entry["count"] += 1
        if len(entry["lines"]) < _FIRST:
            entry["lines"].append(line)

    def total(self) -> int:
        return sum(entry["count"] for entry in self.reasons.values())


@dataclass(frozen=True, eq=False)
class Corpus:
    """Pairs as ids without start and end, in the order of the files, each with the line it came from."""

    folder: Path
    manifest: Mapping[str, Any]
    source_lengths: Int32[np.ndarray, " n"]
    target_lengths: Int32[np.ndarray, " n"]
    _arrays: Mapping[str, Numbers]

    @classmethod
    def build(
        cls,
        folder: Path,
        pairs: Iterable[Pair],
        encoder: Encoder,
        origin: str = "",
        tick: Callable[[], None] = nothing,
        processes: int = 1,
    ) -> Corpus:
        """Encode pairs into a folder, beside it first: it is there complete or not at all.

        With several processes it is the same, and sooner there.

        Left out, and counted: pairs with an empty side, and those beyond the encoder's limits. `origin` is kept, to
        know the text again; `tick` may raise, to stop.
        """
        beside = folder.with_name(f"{folder.name}.new")
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
        skipped = _Skipped()
        try:
            with closing(binarised(pairs, encoder, processes, tick)) as chunks:
                sizes = _write(beside, chunks, skipped)
            if sizes["pairs"] == 0:
                raise BadText(_nothing_left(skipped))
            manifest = {"format": 1, **sizes, "read": sizes["pairs"] + skipped.total(), "dtype": encoder.dtype.name}
            manifest |= {**asdict(encoder.limits), "origin": origin, "skipped": skipped.reasons}
            manifest["vocabulary"] = {"source": encoder.source.fingerprint, "target": encoder.target.fingerprint}
            manifest["files"] = {name: seal(beside / name) for name in _FILES}
            (beside / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(beside, folder)
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path) -> Corpus:
        """A corpus built before; every file is checked against the manifest."""
        manifest = _manifest(folder)
        for name in _FILES:
            path = folder / name
            if not path.is_file() or seal(path) != manifest["files"][name]:
                raise BadCorpus(
                    f"{path}: missing, or changed since it was written. Remove {folder} to build it again."
                )
        dtypes = {name: np.dtype(manifest["dtype"] if name.endswith(".ids") else np.int64) for name in _FILES}
        arrays = {name: Numbers(folder / name, dtypes[name]) for name in _FILES}
        source, target = (_lengths(arrays[f"{side}.offsets"]) for side in ("source", "target"))
        if not len(source) == len(target) == len(arrays["lines"]) == manifest["pairs"]:
            raise BadCorpus(f"{folder}: its files do not agree on the number of pairs. Remove it to build it again.")
        return cls(folder, manifest, source, target, arrays)

    def __len__(self) -> int:
        return len(self.source_lengths)

    def rows(self, side: str, which: Iterable[int]) -> list[np.ndarray]:
        """Ids of the sources or the targets of these pairs, many at a time."""
        return self._arrays[f"{side}.ids"].stretches(self._arrays[f"{side}.offsets"].neighbours(which).tolist())

    def source(self, index: int) -> Int[np.ndarray, " s"]:
        """Ids of the source of a pair, without start and end."""
        return self._row("source", index)

    def target(self, index: int) -> Int[np.ndarray, " t"]:
        """Ids of the target of a pair, without start and end."""
        return self._row("target", index)

    def line(self, index: int) -> int:
        """The line of the original file this pair came from, counted from 1."""
        return int(self._arrays["lines"][index : index + 1][0])

    @property
    def lines(self) -> Int64[np.ndarray, " n"]:
        """The line of every pair."""
        return self._arrays["lines"][:]

    @property
    def skipped(self) -> dict[str, dict[str, Any]]:
        """What was left out: {reason: {"count": n, "lines": the first few}}."""
        return cast("dict[str, dict[str, Any]]", self.manifest["skipped"])

    def summary(self) -> list[str]:
        """What is in it and what was left out, in lines for people."""
        pieces = self.manifest["pieces"]
        said = [f"{len(self):,} pairs; {pieces['source']:,} source pieces, {pieces['target']:,} target pieces"]
        for reason, entry in self.skipped.items():
            some = ", ".join(map(str, entry["lines"])) + (", …" if entry["count"] > len(entry["lines"]) else "")
            said.append(f"left out, {reason}: {entry['count']:,} (line {some})")
        return said

    def _row(self, side: str, index: int) -> np.ndarray:
        if not 0 <= index < len(self):
            raise IndexError(f"There is no pair {index}; the corpus has {len(self)}.")
        return self.rows(side, [index])[0]


def _lengths(offsets: Numbers) -> Int32[np.ndarray, " n"]:
    """How far each offset is from the one before, some at a time: they are twice as large as the answer."""
    found = np.empty(max(0, len(offsets) - 1), np.int32)
    for start in range(0, len(found), _AT_ONCE):
        found[start : start + _AT_ONCE] = np.diff(offsets[start : start + _AT_ONCE + 1])
    return found


def _write(folder: Path, chunks: Iterable[Numbered], skipped: _Skipped) -> dict[str, Any]:
    """Append chunks to the files; answers the number of pairs, and of pieces on each side."""
    pairs, ends = 0, {"source": 0, "target": 0}
    with ExitStack() as stack:
        files = {name: stack.enter_context((folder / name).open("wb")) for name in _FILES}
        for side in ends:
            files[f"{side}.offsets"].write(np.zeros(1, np.int64).tobytes())
        for lines, chunk in chunks:
            pairs += len(chunk.kept)
            files["lines"].write(lines[chunk.kept].tobytes())
            for side, lengths, ids in zip(ends, chunk.lengths, chunk.ids, strict=True):
                files[f"{side}.offsets"].write((ends[side] + np.cumsum(lengths, dtype=np.int64)).tobytes())
                files[f"{side}.ids"].write(ids.tobytes())
                ends[side] += len(ids)
            for place, reason in chunk.skipped:
                skipped.add(reason, int(lines[place]))
    return {"pairs": pairs, "pieces": ends}


def _nothing_left(skipped: _Skipped) -> str:
    why = ", ".join(f"{entry['count']:,} {reason}" for reason, entry in skipped.reasons.items()) or "there was none"
    return f"No pair is left of {skipped.total():,} ({why}). Give other text, or raise data.longest or data.ratio."


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        if manifest["format"] != 1 or manifest["dtype"] not in ("uint16", "uint32"):
            raise ValueError("it is of another kind")
        if set(manifest["files"]) != set(_FILES) or not isinstance(manifest["pairs"], int):
            raise ValueError("it lists other files")
        return cast("dict[str, Any]", manifest)
    except OSError:
        raise BadCorpus(f"{folder}: is not a corpus, or was not finished: it has no manifest.json.") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadCorpus(f"{path}: cannot be understood ({error}). Remove {folder} to build it again.") from None
