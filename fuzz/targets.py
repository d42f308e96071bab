"""One function for each reader: it gets bytes, and may end well or with the documented error, and in no other way."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from safetensors import safe_open

import regard.recipe as recipes
from regard.serve.asked import Asked, checked
from regard.serve.body import value
from regard.serve.languages import Languages
from regard.serve.problem import Problem
from regard.serve.settings import Limits, Pair
from regard.text.pieces import Pieces
from regard.text.read import BadText, PairSource, lines
from regard.train.folder import MANIFEST, damage, read_manifest
from regard.train.header import header
from regard.translate.align import word_spans
from regard.translate.masks import edited, masked, restored
from regard.translate.placeholders import signs, together

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


KINDS = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x")


@cache
def forms() -> Asked:
    """What a server of one model takes."""
    return Asked(Limits(), Languages([Pair("en-de", "en", "de", "toy", FIXTURE)]))


def body(data: bytes) -> None:
    """The body of a request, of the kind its first byte says: a value of the form that is asked, or a Problem."""
    for form in (forms().translate, forms().own, forms().detect):
        try:
            given = value(data[1:], KINDS[(data[0] if data else 0) % len(KINDS)], Limits())
            asked = checked(form, given, 422)
        except Problem as problem:
            assert 400 <= problem.status < 500  # noqa: PT017
            assert problem.message.encode()  # noqa: PT017
        else:
            asked.model_dump_json().encode()


def tags(data: bytes) -> None:
    """Placeholders taken out of a text and put back by any weights: each is there, or it is said that not."""
    text = data.decode("utf-8", "replace")
    mask = masked(text, together(text, signs(text)))
    assert edited(text, mask.edits) == mask.text
    units = word_spans(mask.text)
    said = " ".join(mask.text[a:b] for a, b in reversed(units))
    spans = word_spans(said)
    weights = np.random.default_rng(len(data)).random((len(spans), len(units)))
    placed = restored(mask, said, units, spans, weights) if len(spans) < 60 else None
    if placed is not None:
        whole = edited(said, placed)
        assert all(text[one.start : one.end] in whole for one in mask.kept)


TARGETS: dict[str, Target] = {
    "reader": reader,
    "recipe": recipe,
    "manifest": manifest,
    "pieces": pieces,
    "weights": weights,
    "body": body,
    "tags": tags,
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
        "body": [
            b'\0{"q": ["a", "b"], "source": "en", "target": "de", "format": "html", "alternatives": 2}',
            b'\0{"texts": ["a"], "nbest": 2, "beam": 5, "glossary": {"a": "b"}, "prefix": "x", "deadline": 1.5}',
            b"\1q=one%20dog&source=en&target=de&api_key=x",
            b'\2--x\r\nContent-Disposition: form-data; name="q"\r\n\r\nhallo\r\n--x--\r\n',
        ],
        "tags": [
            b"<b>one</b> %1$s dog, {name} &amp; http://a.org/b?c=d. %(x)s <br/> a@b.org <!-- c -->",
            b"{{a}} ${b} %d%% <i>zwei <b>rote</b></i> Hunde, 12 www.x.de",
        ],
    }
    return files[name]
