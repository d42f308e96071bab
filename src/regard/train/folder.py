"""The run folder: what is in it is complete, or is not there. Readable without torch.

recipe.toml            every setting, resolved
pieces/ data/          the vocabulary and the binarised text of a translator
saves/00000500/        all that going on needs: weights, optimiser, state, and a manifest written last
model-00000500.safetensors   the best model so far
manifest.json          which model that is, with the SHA-256 of every file that translating needs
log.jsonl              what was measured, the same bytes for the same seed; times.jsonl has the clock's part
samples/ loss.png README.md  to read and look at
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MANIFEST = "manifest.json"
FORMAT = 1


class NotARun(ValueError):
    """The folder given is not a run, or not a complete one."""


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write(path: Path, content: bytes | str) -> None:
    """A file that is there as a whole or not at all: written beside, made durable, renamed."""
    beside = path.with_name(f".{path.name}.new")
    data = content.encode() if isinstance(content, str) else content
    with beside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
    durable(path.parent)


def durable(folder: Path) -> None:
    """Make renames in this folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder that appears as a whole, with a manifest of its files: fill the one given, it is then renamed.

    One of that name goes only when the new one is there: until then it is found as `older(path)`.
    """
    beside = path.with_name(f".{path.name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    try:
        yield beside
        for file in beside.iterdir():
            with file.open("rb") as handle:
                os.fsync(handle.fileno())
        write(beside / MANIFEST, manifest(beside, (file.name for file in sorted(beside.iterdir()))))
        if path.exists():
            shutil.rmtree(older(path), ignore_errors=True)
            os.replace(path, older(path))
        os.replace(beside, path)
        durable(path.parent)
        shutil.rmtree(older(path), ignore_errors=True)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def older(path: Path) -> Path:
    """Where a folder waits while another of its name takes its place."""
    return path.with_name(f"{path.name}~")


def manifest(folder: Path, names: Iterator[str], **more: object) -> str:
    """The text of a manifest: each file's size and SHA-256."""
    files = {name: {"bytes": (folder / name).stat().st_size, "sha256": digest(folder / name)} for name in names}
    return json.dumps({"format": FORMAT, "files": files, **more}, indent=1, sort_keys=True) + "\n"


def damage(folder: Path, only: str | None = None) -> str | None:
    """What is wrong with a folder that has a manifest; None if it is as it was written."""
    try:
        listed: Mapping[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return f"{folder / MANIFEST} is missing or unreadable"
    for name, told in listed.items():
        if only is not None and name != only:
            continue
        file = folder / name
        if not file.is_file():
            return f"{file} is missing"
        if file.stat().st_size != told["bytes"] or digest(file) != told["sha256"]:
            return f"{file} is not what was written (its SHA-256 differs)"
    return None


@contextmanager
def one_process(folder: Path) -> Iterator[None]:
    """Hold the folder: a second process is refused and told of the first. A dead one's hold ends with it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            raise ValueError(
                f"{folder} is in use by process {file.read().strip() or '?'}; "
                "wait for it, stop it, or use another --run"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def relist(folder: Path, name: str) -> None:
    """Let the manifest, if there is one, tell of a file as it is now."""
    path = folder / MANIFEST
    if not path.is_file():
        return
    content = read_manifest(folder)
    now = json.loads(manifest(folder, iter([name])))["files"]
    if content["files"].get(name) != now[name]:
        write(path, json.dumps({**content, "files": content["files"] | now}, indent=1, sort_keys=True) + "\n")


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a run; a folder without one is not a run that can be used yet."""
    if not folder.is_dir():
        raise NotARun(f"there is no run folder {folder}; `regard train --run {folder}` makes one")
    path = folder / MANIFEST
    if not path.is_file():
        made = (folder / "recipe.toml").is_file()
        what = "has no model yet; train it further with the same command" if made else "is not a run folder"
        raise NotARun(f"{folder} {what}" + ("" if made else "; it has no recipe.toml and no manifest.json"))
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise NotARun(f"{path}: not readable as JSON ({error}); restore it from a copy or train anew") from None
    if content.get("format") != FORMAT:
        raise NotARun(
            f"{path} has format {content.get('format')!r}; this version of regard reads {FORMAT}: update regard"
        )
    return content


def model_of(run: Path) -> Path:
    """The weights of a run's best model, whole as they were written."""
    manifest = read_manifest(run)
    problem = damage(run)
    if problem is not None:
        raise ValueError(f"{problem}; restore it from a copy, or train anew")
    return run / str(manifest["model"])
