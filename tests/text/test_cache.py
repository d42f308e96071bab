"""What is kept is found whole, by any number of processes, or it is made anew."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from regard.text import places
from regard.text.cache import Cache, Damaged


@pytest.fixture
def made(tmp_path: Path) -> Path:
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "a").write_bytes(b"one")
    (folder / "b").write_bytes(b"two")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_is_kept_is_taken(tmp_path: Path, made: Path) -> None:
    cache = Cache(tmp_path / "cache")
    assert not cache.take("x", tmp_path / "run")
    cache.keep("x", made)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "old").write_bytes(b"old")
    assert cache.take("x", tmp_path / "run")
    assert contents(tmp_path / "run") == contents(made)
    assert os.path.samefile(tmp_path / "run" / "a", made / "a")  # no room is taken twice
    assert [path.name for path in cache.folder.iterdir()] == ["x"]


def test_copies_where_there_are_no_links(tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError("other disk")

    monkeypatch.setattr(os, "link", refused)
    cache = Cache(tmp_path / "cache")
    cache.keep("x", made)
    assert cache.take("x", tmp_path / "run")
    assert contents(tmp_path / "run") == contents(made)


@pytest.mark.parametrize("damage", ["flip", "cut", "gone", "seals", "other", "no seals"])
def test_damage_is_found_and_removed(tmp_path: Path, made: Path, damage: str) -> None:
    cache = Cache(tmp_path / "cache")
    cache.keep("x", made)
    file, seals = cache.folder / "x" / "a", cache.folder / "x" / "seals.json"
    if damage in ("flip", "cut"):
        file.write_bytes(b"onf" if damage == "flip" else b"on")
    elif damage == "gone":
        file.unlink()
    elif damage == "no seals":
        seals.unlink()
    else:
        seals.write_text("{" if damage == "seals" else '{"../made/a": {}}')
    with pytest.raises(Damaged):
        cache.take("x", tmp_path / "run")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "made"]
    assert not cache.take("x", tmp_path / "run")  # it is gone, so it is made and kept anew
    (made / "a").write_bytes(b"one")
    cache.keep("x", made)
    assert cache.take("x", tmp_path / "run")


def test_the_first_stays(tmp_path: Path, made: Path) -> None:
    cache = Cache(tmp_path / "cache")
    together = [threading.Thread(target=cache.keep, args=("x", made)) for _ in range(8)]
    for thread in together:
        thread.start()
    for thread in together:
        thread.join()
    assert [path.name for path in cache.folder.iterdir()] == ["x"]
    assert cache.take("x", tmp_path / "run")


def test_what_the_killed_left_is_removed_when_old(tmp_path: Path, made: Path) -> None:
    cache = Cache(tmp_path / "cache")
    for name in (".new.1.new", ".old.1.new"):
        (cache.folder / name).mkdir(parents=True)
    os.utime(cache.folder / ".old.1.new", (0, 0))
    cache.keep("x", made)
    assert sorted(path.name for path in cache.folder.iterdir()) == [".new.1.new", "x"]


def test_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("REGARD_CACHE", raising=False)
    assert places.kept() == tmp_path / "regard" / "made"
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "here"))
    assert places.kept() == tmp_path / "here"
    for off in ("", "off"):
        monkeypatch.setenv("REGARD_CACHE", off)
        assert places.kept() is None
