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

from regard.files import json_object, leads_out, plain_bytes, quoted, shown
from regard.train.listed import sound

MANIFEST = "manifest.json"
FORMAT = 2
READABLE = (1, 2)
SEAL = "seal"
STATE = "state.json"
"""In a save: how far it is, and what it was made with."""
NEEDED = ("recipe.toml", "pieces/source.model", "pieces/target.model")  # beside the weights, where they are


class NotARun(ValueError):
    """The folder given is not a run, or not a complete one."""


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write(path: Path, content: bytes | str) -> None:
    """A file that is there as a whole or not at all: written beside, made durable, renamed."""
    data = content.encode() if isinstance(content, str) else content
    with whole_file(path) as beside, beside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A file that appears as a whole: fill the one given and make it durable, it is then renamed."""
    beside = path.with_name(f".{path.name}.new")
    try:
        yield beside
        os.replace(beside, path)
        durable(path.parent)
    finally:
        beside.unlink(missing_ok=True)


def clear_away(folder: Path) -> None:
    """What was being written when a process died."""
    for path in folder.glob(".*.new"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def lasting(folder: Path) -> Path:
    """A folder, made if it is not there, whose name survives a power cut too."""
    if not folder.is_dir():
        folder.mkdir(parents=True)
        durable(folder.parent)
    return folder


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
    return sealed({"format": FORMAT, "files": files, **more})


def sealed(content: Mapping[str, Any]) -> str:
    """The text of a manifest with its own SHA-256 in it: a byte that changed there is seen as well."""
    bare = {name: value for name, value in content.items() if name != SEAL}
    seal = hashlib.sha256(json.dumps(bare, sort_keys=True).encode()).hexdigest()
    return json.dumps({**bare, SEAL: seal}, indent=1, sort_keys=True) + "\n"


def unsealed(data: bytes) -> dict[str, Any]:
    """What a manifest says, if it says what was written; ValueError if not. Format 1 had no seal."""
    try:
        content = json_object(data.decode())
    except ValueError as error:
        raise ValueError(f"not readable as JSON ({shown(str(error))})") from None
    if content.get("format") not in READABLE:
        return content  # of a later version, which those who ask will say
    if "files" not in content:
        raise ValueError("not a manifest")
    sound(content)
    due = content.get("format") == FORMAT or SEAL in content
    if due and data != sealed(content).encode():
        raise ValueError("not what was written (its SHA-256 differs)")
    return content


def damage(folder: Path, only: str | None = None) -> str | None:
    """What is wrong with a folder that has a manifest; None if it is as it was written."""
    try:
        content = unsealed(plain_bytes(folder / MANIFEST))
        listed = {name: (told["bytes"], told["sha256"]) for name, told in content["files"].items()}
        if content.get("format") not in READABLE:
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return f"{folder / MANIFEST} is missing or unreadable"
    for name, told in listed.items():
        if only is not None and name != only:
            continue
        file = folder / name
        if leads_out(folder, file):
            return f"{file} is a link that leads out of {folder}"
        if not file.is_file():
            return f"{file} is missing"
        if file.stat().st_size != told[0] or digest(file) != told[1]:
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


def holder(folder: Path) -> str | None:
    """The process that holds a folder; None if none does. The hold is only looked at, never taken."""
    path = folder / ".lock"
    if not path.is_file() or leads_out(folder, path):
        return None
    with path.open("rb") as file:
        place = os.fstat(file.fileno())
        here = f"{os.major(place.st_dev):02x}:{os.minor(place.st_dev):02x}:{place.st_ino}"
        named = file.read(32).decode("ascii", "replace").strip()
    try:
        held = here in Path("/proc/locks").read_text(encoding="ascii").split()
    except OSError:  # a system without that list
        return named if named.isdecimal() and _alive(int(named)) else None
    return (named or "?") if held else None


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def relist(folder: Path, name: str) -> None:
    """Let the manifest, if there is one, tell of a file as it is now."""
    path = folder / MANIFEST
    if not path.is_file():
        return
    content = read_manifest(folder)
    now = json.loads(manifest(folder, iter([name])))["files"]
    if content["files"].get(name) != now[name]:
        write(path, sealed({**content, "format": FORMAT, "files": content["files"] | now}))


def saves_in(run: Path) -> list[Path]:
    """What is in the place of saves, whole or damaged, the newest first; each is named by its step."""
    found = (path for path in (run / "saves").glob("[0-9]*") if path.name.isdecimal())
    return sorted(found, key=lambda path: int(path.name), reverse=True)


def made_with(run: Path) -> dict[str, str]:
    """What the newest save tells of versions, threads, precision and device; nothing where no save is left."""
    for path in (save / STATE for save in saves_in(run)):
        if not os.path.lexists(path):
            continue
        own(run, path)
        try:
            state = json_object(plain_bytes(path))
        except ValueError as error:
            raise NotARun(f"{path}: not readable as JSON ({shown(str(error))}); restore it from a copy") from None
        return {name: str(told) for name, told in state.items() if name != "progress"}
    return {}


def own(folder: Path, path: Path) -> Path:
    """The path of a file, if it is in the folder itself and no link to somewhere else."""
    if leads_out(folder, path):
        raise NotARun(f"{path} is a link that leads out of {folder}; put the file itself there")
    return path


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a run; a folder without one is not a run that can be used yet."""
    if not folder.is_dir():
        raise NotARun(f"there is no run folder {folder}; `regard train --run {folder}` makes one")
    path = folder / MANIFEST
    if not path.is_file():
        made = (folder / "recipe.toml").is_file()
        what = "has no model yet; train it further with the same command" if made else "is not a run folder"
        raise NotARun(f"{folder} {what}" + ("" if made else "; it has no recipe.toml and no manifest.json"))
    own(folder, path)
    try:
        content = unsealed(plain_bytes(path))
    except ValueError as error:
        raise NotARun(f"{path}: {error}; restore it from a copy or train anew") from None
    if content.get("format") not in READABLE:
        raise NotARun(
            f"{path} has format {quoted(content.get('format'))}; this version of regard reads {FORMAT}: update regard"
        )
    return content


def model_of(run: Path) -> Path:
    """The weights of a run's best model, whole as they were written."""
    manifest = read_manifest(run)
    problem = damage(run)
    if problem is not None:
        raise ValueError(f"{problem}; restore it from a copy, or train anew")
    unlisted = [name for name in NEEDED if os.path.lexists(run / name) and name not in manifest["files"]]
    if unlisted:
        raise NotARun(f"{run / unlisted[0]} is not in {MANIFEST}; restore both from a copy, or train anew")
    if manifest.get("model") not in manifest["files"]:
        raise NotARun(f"{run / MANIFEST} does not say which file is the model; restore it from a copy, or train anew")
    return run / str(manifest["model"])
