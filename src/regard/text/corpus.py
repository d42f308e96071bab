"""A corpus as numbers on disk: memory-mapped, so ten million pairs need no more memory than ten."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, cast

import numpy as np
from jaxtyping import Int, Int32, Int64

from regard.text.pieces import Pieces, nothing
from regard.text.read import BadText

_CHUNK = 10_000  # pairs encoded at once
_FILES = ("source.ids", "source.offsets", "target.ids", "target.offsets", "lines")
_FIRST = 5  # line numbers kept for each reason
_CHARACTERS = 16  # sentencepiece makes no longer piece, so a text has at least a sixteenth of its length in pieces

Pair = tuple[int, str, str]
Encoded = tuple[int, list[int], list[int]]


class BadCorpus(ValueError):
    """A folder that is not a complete corpus; the message says why."""


@dataclass(frozen=True)
class Limits:
    """Which pairs are taken; the others are left out and counted."""

    longest: int = 256
    """Pieces of a side, at most."""
    ratio: float = 9.0
    """Times the pieces of the other side, at most."""

    def against_text(self, source: str, target: str) -> str | None:
        """Why a pair is left out before it is encoded, if it is."""
        if not source.strip() or not target.strip():
            return "empty"
        return "too long" if max(len(source), len(target)) > _CHARACTERS * self.longest else None

    def against_ids(self, source: list[int], target: list[int]) -> str | None:
        """Why an encoded pair is left out, if it is."""
        few, many = sorted((len(source), len(target)))
        if many > self.longest:
            return "too long"
        return "one side much longer" if many > self.ratio * few else None


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
    _arrays: Mapping[str, np.ndarray]

    @classmethod
    def build(
        cls,
        folder: Path,
        pairs: Iterable[Pair],
        source_pieces: Pieces,
        target_pieces: Pieces,
        longest: int = 256,
        ratio: float = 9.0,
        origin: str = "",
        tick: Callable[[], None] = nothing,
    ) -> Corpus:
        """Encode pairs into a folder, beside it first: it is there complete or not at all.

        Left out, and counted: pairs with an empty side, with a side of more than `longest` pieces, or with one side
        more than `ratio` times the other. `origin` is kept, to know the text again; `tick` may raise, to stop.
        """
        beside = folder.with_name(f"{folder.name}.new")
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
        skipped = _Skipped()
        limits = Limits(longest, ratio)
        dtype = np.dtype(np.uint16 if max(len(source_pieces), len(target_pieces)) <= 2**16 else np.uint32)
        try:
            chunks = _encoded(pairs, source_pieces, target_pieces, limits, skipped, tick)
            sizes = _write(beside, chunks, dtype)
            if sizes["pairs"] == 0:
                raise BadText(_nothing_left(skipped))
            manifest = {"format": 1, **sizes, "read": sizes["pairs"] + skipped.total(), "dtype": dtype.name}
            manifest |= {"longest": longest, "ratio": ratio, "origin": origin, "skipped": skipped.reasons}
            manifest["vocabulary"] = {"source": source_pieces.fingerprint, "target": target_pieces.fingerprint}
            manifest["files"] = {name: _seal(beside / name) for name in _FILES}
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
            if not path.is_file() or _seal(path) != manifest["files"][name]:
                raise BadCorpus(
                    f"{path}: missing, or changed since it was written. Remove {folder} to build it again."
                )
        dtypes = {name: np.dtype(manifest["dtype"] if name.endswith(".ids") else np.int64) for name in _FILES}
        arrays = {name: np.memmap(folder / name, dtypes[name], mode="r") for name in _FILES}
        source, target = (np.diff(arrays[f"{side}.offsets"]).astype(np.int32) for side in ("source", "target"))
        if not len(source) == len(target) == len(arrays["lines"]) == manifest["pairs"]:
            raise BadCorpus(f"{folder}: its files do not agree on the number of pairs. Remove it to build it again.")
        return cls(folder, manifest, source, target, arrays)

    def __len__(self) -> int:
        return len(self.source_lengths)

    def source(self, index: int) -> Int[np.ndarray, " s"]:
        """Ids of the source of a pair, without start and end."""
        return self._row("source", index)

    def target(self, index: int) -> Int[np.ndarray, " t"]:
        """Ids of the target of a pair, without start and end."""
        return self._row("target", index)

    def line(self, index: int) -> int:
        """The line of the original file this pair came from, counted from 1."""
        return int(self._arrays["lines"][index])

    @property
    def lines(self) -> Int64[np.ndarray, " n"]:
        """The line of every pair."""
        return self._arrays["lines"]

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
        offsets = self._arrays[f"{side}.offsets"]
        return np.asarray(self._arrays[f"{side}.ids"][offsets[index] : offsets[index + 1]])


def _encoded(
    pairs: Iterable[Pair],
    source_pieces: Pieces,
    target_pieces: Pieces,
    limits: Limits,
    skipped: _Skipped,
    tick: Callable[[], None],
) -> Iterator[list[Encoded]]:
    """Chunks of encoded pairs, without those that are left out."""
    rest = iter(pairs)
    while chunk := list(islice(rest, _CHUNK)):
        tick()
        taken: list[Pair] = []
        for line, source, target in chunk:
            if reason := limits.against_text(source, target):
                skipped.add(reason, line)
            else:
                taken.append((line, source, target))
        sources = source_pieces.encode([source for _, source, _ in taken])
        targets = target_pieces.encode([target for _, _, target in taken])
        kept: list[Encoded] = []
        for (line, _, _), source_ids, target_ids in zip(taken, sources, targets, strict=True):
            if reason := limits.against_ids(source_ids, target_ids):
                skipped.add(reason, line)
            else:
                kept.append((line, source_ids, target_ids))
        yield kept


def _write(folder: Path, chunks: Iterable[list[Encoded]], dtype: np.dtype[Any]) -> dict[str, Any]:
    """Append chunks to the files; answers the number of pairs, and of pieces on each side."""
    pairs, ends = 0, {"source": 0, "target": 0}
    with ExitStack() as stack:
        files = {name: stack.enter_context((folder / name).open("wb")) for name in _FILES}
        for side in ends:
            files[f"{side}.offsets"].write(np.zeros(1, np.int64).tobytes())
        for chunk in chunks:
            pairs += len(chunk)
            files["lines"].write(np.array([line for line, _, _ in chunk], np.int64).tobytes())
            for place, side in enumerate(ends, start=1):
                rows = [cast("list[int]", encoded[place]) for encoded in chunk]
                offsets = ends[side] + np.cumsum([0, *map(len, rows)], dtype=np.int64)
                files[f"{side}.offsets"].write(offsets[1:].tobytes())
                files[f"{side}.ids"].write(np.fromiter(chain.from_iterable(rows), dtype).tobytes())
                ends[side] = int(offsets[-1])
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


def _seal(path: Path) -> dict[str, Any]:
    """Size and SHA-256 of a file."""
    with path.open("rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
