"""One function for each reader: it gets bytes, and may end well or with the documented error, and in no other way."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from safetensors import safe_open

import regard.recipe as recipes
from regard.text.pieces import Pieces
from regard.text.read import BadText, PairSource, lines
from regard.train.folder import MANIFEST, damage, read_manifest
from regard.train.header import header

FIXTURE = Path(__file__).parents[1] / "tests" / "files" / "format-1" / "transformer"
Target = Callable[[bytes], None]


@cache
def place() -> Path:
    """A folder in memory, if there is one, as a file is written for each try."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))


def reader(data: bytes) -> None:
    """Text to learn from: lines, and pairs in columns. BadText names the file; a line never has a line end in it."""
    file = place() / "text"
    file.write_bytes(data)
    for read in (lambda: list(lines(file)), lambda: list(PairSource(pairs=file))):
        try:
            found = read()
        except BadText as error:
            assert str(error).startswith(str(file))  # noqa: PT017
        else:
            assert not any("\n" in str(text) for text in found)


def recipe(data: bytes) -> None:
    """A recipe: what loads is written, and loads back equal."""
    file = place() / "recipe.toml"
    file.write_bytes(data)
    try:
        found = recipes.load(file)
    except ValueError as error:
        assert str(file) in str(error) or "there is no recipe" in str(error), error  # noqa: PT017
        return
    file.write_text(recipes.dump(found), encoding="utf-8")
    assert recipes.load(file) == found


def manifest(data: bytes) -> None:
    """The manifest of a run."""
    folder = place() / "run"
    folder.mkdir(exist_ok=True)
    (folder / MANIFEST).write_bytes(data)
    problem = damage(folder)
    try:
        found = read_manifest(folder)
    except ValueError as error:
        assert problem is not None, error  # noqa: PT017
        assert str(folder) in str(error)  # noqa: PT017
    else:
        assert all((folder / name).resolve().is_relative_to(folder.resolve()) for name in found["files"])


def pieces(data: bytes) -> None:
    """A sentencepiece model, then what it makes of text."""
    try:
        found = Pieces(data)
    except ValueError:
        return
    texts = ["one red dog", "", "\u2581<s>\0", "Ω" * 50]
    rows = found.encode(texts)
    assert all(0 <= i < len(found) for row in rows for i in row)
    found.decode(rows)
    assert all(len(found.words(row)) == len(row) for row in rows)


def weights(data: bytes) -> None:
    """The header of a file of safetensors: what is believed, the library believes too."""
    file = place() / "model.safetensors"
    file.write_bytes(data)
    try:
        told = header(file)
    except ValueError as error:
        assert str(file) in str(error)  # noqa: PT017
        return
    with safe_open(file, "numpy") as opened:
        assert set(opened.keys()) == set(told)


TARGETS: dict[str, Target] = {
    "reader": reader,
    "recipe": recipe,
    "manifest": manifest,
    "pieces": pieces,
    "weights": weights,
}


def seeds(name: str) -> list[bytes]:
    """Whole files to begin with."""
    run = FIXTURE
    files = {
        "reader": [b"one\teins\n", b"a\tb\r\n\xef\xbb\xbf\n", b"\x1f\x8b", "grün\tgreen\n".encode(), b"\xff\xfeo\0"],
        "recipe": [path.read_bytes() for path in (run / "recipe.toml", run.parent / "recurrent" / "recipe.toml")],
        "manifest": [(run / MANIFEST).read_bytes()],
        "pieces": [(run / "pieces" / "source.model").read_bytes()],
        "weights": [path.read_bytes()[:6000] for path in run.glob("model-*")],
    }
    return files[name]
