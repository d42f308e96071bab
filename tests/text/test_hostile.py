"""T13: every hostile file has a stated meaning or is refused with file:line; no traceback, no silent shift."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from regard.text.check import report
from regard.text.corpus import Corpus
from regard.text.encode import Encoder, Limits
from regard.text.pieces import Pieces
from regard.text.read import BadText, PairSource, lines, read_pairs
from tests.text.hostile import CASES, Case


def test_there_are_enough() -> None:
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)


def written(case: Case, folder: Path) -> tuple[Path | None, Path | None, Path | None]:
    first = folder / f"data{case.suffix}"
    first.write_bytes(case.source)
    if case.target is None:
        return None, None, first
    second = folder / "target"
    second.write_bytes(case.target)
    return first, second, None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_hostile(case: Case, tmp_path: Path, pieces: Pieces) -> None:
    source, target, table = written(case, tmp_path)
    if isinstance(case.means, str):
        first, second = re.escape(str(source or table)), re.escape(str(target))
        pattern = case.means.replace("FILE", first).replace("TARGET", second)
        with pytest.raises(BadText, match=f"(?s)^{pattern}"):
            read_pairs(source, target, table)
        return
    pairs = read_pairs(source, target, table)
    assert [(s, t) for _, s, t in pairs] == list(case.means)
    assert [line for line, _, _ in pairs] == list(range(1, len(case.means) + 1))
    found = report(pairs)
    assert re.search(case.told, "\n".join(found.lines)), found.lines
    corpus = Corpus.build(tmp_path / "corpus", pairs, Encoder(pieces, pieces, Limits(3000, 2000.0)))
    kept = [(s, t) for s, t in case.means if s.strip() and t.strip() and len(s) < 10_000]
    assert [
        tuple(pieces.decode([corpus.source(i), corpus.target(i)])) for i in range(len(corpus))
    ] == kept  # byte for byte
    assert all(case.means[corpus.line(i) - 1] == kept[i] for i in range(len(corpus)))


def test_what_is_no_file(tmp_path: Path, files: tuple[Path, Path]) -> None:
    source, _ = files
    refusals = {
        tmp_path: "is a folder, not a text file. Name a file in it",
        tmp_path / "a.e": r"there is no such file. There is: a.de, a.en",
        tmp_path / "nowhere" / "x": "there is no such file. Check the spelling",
        Path(os.devnull): "is not a plain file.*Write it to a file first",
    }
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        refusals[tmp_path / "pipe"] = "is not a plain file"
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    refusals[tmp_path / "link"] = "there is no such file"
    for path, pattern in refusals.items():
        with pytest.raises(BadText, match=f"^{re.escape(str(path))}: {pattern}"):
            list(lines(path))
        with pytest.raises(BadText, match=pattern):
            read_pairs(source, path)
        with pytest.raises(BadText, match=pattern):
            PairSource(pairs=path).fingerprint()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="everything is allowed to root")
def test_what_may_not_be_read(files: tuple[Path, Path]) -> None:
    files[0].chmod(0)
    with pytest.raises(BadText, match=r"cannot be opened.*permissions"):
        list(lines(files[0]))


def test_which_files_go_together(tmp_path: Path, files: tuple[Path, Path]) -> None:
    source, target = files
    with pytest.raises(BadText, match="source and target are the same file"):
        PairSource(source, source)
    (tmp_path / "same").symlink_to(source)
    with pytest.raises(BadText, match="source and target are the same file"):
        PairSource(source, tmp_path / "same")
    for wrong in ({}, {"source": source}, {"source": source, "target": target, "pairs": source}):
        with pytest.raises(BadText, match="Give a source and a target file, or one file of tab-separated pairs"):
            PairSource(**wrong)
