"""F2: folders made to deceive are refused with a sentence; nothing is run, nothing written, little memory taken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.files.cage import Cage
from tests.files.hostile import Case, cases, folder_with

MORE = 48 * 2**20  # bytes that refusing takes beside what lies in the folder: a model's modules, JSON, imports
ALL = cases()
SOME = ALL[::12]  # `make reliability` opens all of them


@pytest.fixture(scope="module")
def cage() -> Iterator[Cage]:
    with Cage() as found:
        yield found


def trouble(cage: Cage, case: Case, place: Path) -> str | None:
    """What went wrong where a folder should be refused; None if it was refused as it should be."""
    name, spoil, said = case
    folder = folder_with(spoil, place / re.sub(r"\W+", "-", name)[:60])
    size = sum(path.lstat().st_size for path in folder.rglob("*"))
    found = cage.open(folder)
    if found["ended"] != 0:
        return f"{name}: the process ended with {found['ended']}"
    if not found["value_error"] or not re.search(said, found["said"]):
        return f"{name}: {found['raised']}: {found['said'][:300]!r}"
    if len(found["said"]) > 1500 or "\n" in found["said"] or "\x1b" in found["said"]:
        return f"{name}: not one line to read: {found['said'][:200]!r}"
    if (
        found["info"] not in (0, 2)
        or "Traceback" in found["told"]
        or (found["info"] and found["told"].count("\n") != 1)
    ):
        return f"{name}: info ended with {found['info']}: {found['told'][:300]}"
    if found["tried"] or (place / "code-was-run").exists():
        return f"{name}: it tried {found['tried']}"
    if found["grown"] > 2 * size + MORE:
        return f"{name}: {found['grown']:,} bytes for a folder of {size:,}"
    return None


def test_there_are_many_and_all_differ() -> None:
    assert len(ALL) >= 80
    assert len({name for name, _, _ in ALL}) == len(ALL)


def test_the_whole_folder_is_opened(cage: Cage, tmp_path: Path) -> None:
    found = cage.open(folder_with(lambda _: None, tmp_path / "run"))
    assert (found["raised"], found["said"], found["info"], found["tried"]) == (None, "eins rot Hund", 0, []), found


@pytest.mark.parametrize("case", SOME, ids=[name for name, _, _ in SOME])
def test_a_lie_is_refused(cage: Cage, case: Case, tmp_path: Path) -> None:
    assert trouble(cage, case, tmp_path) is None
