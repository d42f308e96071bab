"""The run folder: written beside and renamed, sealed by a manifest, held by one process."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from regard.train.folder import (
    MANIFEST,
    NotARun,
    damage,
    digest,
    manifest,
    older,
    one_process,
    read_manifest,
    relist,
    whole_folder,
    write,
)


def test_a_file_is_written_whole_and_made_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """First the content reaches the disk, then the name, then the folder that has the name."""
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def synced(handle: int) -> None:
        done.append(f"sync {Path(os.readlink(f'/proc/self/fd/{handle}')).name}")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(
        os, "replace", lambda *a: (done.append(f"rename {Path(a[0]).name} {Path(a[1]).name}"), replace(*a))
    )
    write(tmp_path / "a.json", "grün\n")
    assert (tmp_path / "a.json").read_bytes() == "grün\n".encode()
    assert done == ["sync .a.json.new", "rename .a.json.new a.json", f"sync {tmp_path.name}"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a", "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text(encoding="utf-8") == "old"


def test_a_folder_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "00000005"
    with pytest.raises(ZeroDivisionError):
        half_filled(path)
    assert list(tmp_path.iterdir()) == []
    with whole_folder(path) as beside:
        (beside / "a").write_bytes(b"one")
    assert damage(path) is None
    with pytest.raises(ZeroDivisionError):
        half_filled(path)
    assert (path / "a").read_bytes() == b"one"
    with whole_folder(path) as beside:
        (beside / "a").write_bytes(b"three")
    assert (path / "a").read_bytes() == b"three"
    assert not older(path).exists()
    assert list(tmp_path.iterdir()) == [path]


def half_filled(path: Path) -> None:
    with whole_folder(path) as beside:
        (beside / "a").write_bytes(b"half")
        _ = 1 / 0


def test_everything_in_a_folder_reaches_the_disk_before_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def synced(handle: int) -> None:
        done.append(Path(os.readlink(f"/proc/self/fd/{handle}")).name)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", lambda *a: (done.append(f"-> {Path(a[1]).name}"), replace(*a)))
    with whole_folder(tmp_path / "save") as beside:
        (beside / "a").write_bytes(b"1")
        (beside / "b").write_bytes(b"2")
    assert sorted(done[:2]) == ["a", "b"]
    assert done[2:] == [".manifest.json.new", "-> manifest.json", ".save.new", "-> save", tmp_path.name]


def sealed(folder: Path) -> Path:
    folder.mkdir()
    (folder / "recipe.toml").write_text("steps = 1\n", encoding="utf-8")
    (folder / "model").write_bytes(b"weights")
    write(folder / MANIFEST, manifest(folder, iter(["recipe.toml", "model"]), model="model", step=7))
    return folder


def test_damage_is_named(tmp_path: Path) -> None:
    folder = sealed(tmp_path / "run")
    assert damage(folder) is None
    (folder / "model").write_bytes(b"Weights")
    assert damage(folder) == f"{folder / 'model'} is not what was written (its SHA-256 differs)"
    assert damage(folder, only="recipe.toml") is None
    (folder / "model").unlink()
    assert damage(folder) == f"{folder / 'model'} is missing"
    (folder / MANIFEST).write_text("{", encoding="utf-8")
    assert damage(folder) == f"{folder / MANIFEST} is missing or unreadable"


def test_a_changed_recipe_is_listed_anew_and_nothing_else_is(tmp_path: Path) -> None:
    folder = sealed(tmp_path / "run")
    before = (folder / MANIFEST).read_bytes()
    relist(folder, "recipe.toml")
    assert (folder / MANIFEST).read_bytes() == before
    (folder / "recipe.toml").write_text("steps = 2\n", encoding="utf-8")
    (folder / "model").write_bytes(b"Weights")
    relist(folder, "recipe.toml")
    found = read_manifest(folder)
    assert found["files"]["recipe.toml"]["sha256"] == digest(folder / "recipe.toml")
    assert (found["step"], found["model"]) == (7, "model")
    assert "model is not what was written" in str(damage(folder))
    relist(tmp_path, "recipe.toml")  # no manifest yet: nothing to do
    assert not (tmp_path / MANIFEST).exists()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda p: None, r"there is no run folder .*nowhere; `regard train --run .*` makes one"),
        (lambda p: p.mkdir(), r"is not a run folder; it has no recipe\.toml and no manifest\.json"),
        (lambda p: p.write_text("x"), r"there is no run folder"),
        (
            lambda p: (p.mkdir(), (p / "recipe.toml").touch()),
            r"has no model yet; train it further with the same command",
        ),
        (lambda p: (p.mkdir(), (p / MANIFEST).write_text("{")), r"manifest\.json: not readable as JSON"),
        (lambda p: (p.mkdir(), (p / MANIFEST).write_text('{"format": 9}')), r"has format 9; this version .* reads 2"),
    ],
)
def test_what_is_no_run_says_so(tmp_path: Path, make: object, said: str) -> None:
    folder = tmp_path / "nowhere"
    make(folder)  # type: ignore[operator]
    with pytest.raises(NotARun, match=said):
        read_manifest(folder)


def test_a_manifest_tells_sizes_and_digests(tmp_path: Path) -> None:
    told = json.loads((sealed(tmp_path / "run") / MANIFEST).read_text(encoding="utf-8"))
    assert told["files"]["model"] == {"bytes": 7, "sha256": hashlib.sha256(b"weights").hexdigest()}
    assert told["format"] == 2


HOLD = """
import sys, time
from pathlib import Path
from regard.train.folder import one_process
with one_process(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_one_process_a_folder_and_a_dead_one_lets_go(tmp_path: Path) -> None:
    """T16: the second is told of the first; when that is killed, the folder is free."""
    folder = tmp_path / "run"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        for _ in range(2):  # being refused leaves the name of the holder where it was
            said = f"in use by process {holder.pid}; wait for it, stop it, or use"
            with pytest.raises(ValueError, match=said), one_process(folder):
                pass
    finally:
        holder.kill()
        holder.communicate()
    with one_process(folder):
        assert (folder / ".lock").read_text(encoding="ascii") == str(os.getpid())
    with one_process(folder):
        pass
