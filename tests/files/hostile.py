"""Run folders that somebody made to deceive: each is a whole one with one lie in it, and what is said about it.

Where the lie is not in the manifest itself, the manifest is made to agree with it: hashes do not help against someone
who can compute them.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from regard.train.folder import MANIFEST, digest

FIXTURE = Path(__file__).parent / "format-1" / "transformer"
Spoil = Callable[[Path], object]
Case = tuple[str, Spoil, str]


def folder_with(spoil: Spoil, to: Path) -> Path:
    """A copy of the fixture with one lie in it."""
    shutil.copytree(FIXTURE, to)
    (to / "evil.py").write_text(f"open({str(to.parent / 'code-was-run')!r}, 'w')\n", encoding="utf-8")
    spoil(to)
    return to


def manifest(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return content


def say(folder: Path, **changes: object) -> None:
    """The manifest with some entries changed; it is of the format that has no seal."""
    content = {**manifest(folder), **changes}
    (folder / MANIFEST).write_text(json.dumps({k: v for k, v in content.items() if v != "gone"}), encoding="utf-8")


def relist(folder: Path) -> None:
    """Let the manifest tell the truth about every file it lists."""
    listed = manifest(folder)["files"]
    say(folder, files={n: {"bytes": (folder / n).stat().st_size, "sha256": digest(folder / n)} for n in listed})


def listing(name: str | None = None, **told: object) -> Spoil:
    """A manifest that lists one more file, or says something else of the weights."""

    def spoil(folder: Path) -> None:
        files = manifest(folder)["files"]
        at = manifest(folder)["model"] if name is None else name
        files[at] = {"bytes": 5, "sha256": "0" * 64, **files.get(at, {}), **told}
        say(folder, files=files)

    return spoil


def text(name: str, content: str | bytes, listed: bool = True) -> Spoil:
    """A file with this content."""

    def spoil(folder: Path) -> None:
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        if listed:
            relist(folder)

    return spoil


def instead(name: str, make: Callable[[Path], object]) -> Spoil:
    """Something else where a file was; `{model}` is the weights."""

    def spoil(folder: Path) -> None:
        path = folder / name.format(model=manifest(folder)["model"])
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        make(path)

    return spoil


def recipe(old: str, new: str) -> Spoil:
    """The recipe with a line put for another, or before all of them."""

    def spoil(folder: Path) -> None:
        path = folder / "recipe.toml"
        lines = path.read_text(encoding="utf-8").split("\n")
        at = [line.split(" = ")[0] for line in lines].index(old) if old else 0
        lines[at : at + bool(old)] = [new]
        path.write_text("\n".join(lines), encoding="utf-8")
        relist(folder)

    return spoil


def moved(folder: Path, name: str) -> Path:
    """A file taken out of the folder, to be linked to."""
    out = folder.parent / f"{folder.name}-outside"
    out.mkdir(exist_ok=True)
    return Path(shutil.move(folder / name, out / Path(name).name))


def linked(name: str) -> Spoil:
    """A file that is as it should be, but elsewhere."""

    def spoil(folder: Path) -> None:
        place = name.format(model=manifest(folder)["model"])
        out = moved(folder, place)
        (folder / place).symlink_to(out)

    return spoil


def manifest_cases() -> Iterator[Case]:
    """The manifest itself lies."""
    bad = "is not readable|not readable as JSON|missing or unreadable"
    texts = {
        "no JSON": "files: {}", "not UTF-8": b"\xff\xfe{}", "UTF-16": '{"format": 1, "files": {}}'.encode("utf-16"),
        "empty": "", "a list": "[]", "deep lists": "[" * 200_000, "deep objects": '{"files":' * 100_000,
        "deep but closed": '{"format": 1, "files": {}, "x": ' + "[" * 400 + "]" * 400 + "}",
        "a name twice": '{"format": 1, "files": {}, "files": {}}', "digits": '{"format": ' + "9" * 100_000 + "}",
    }  # fmt: skip
    for name, content in texts.items():
        yield f"manifest: {name}", text(MANIFEST, content, listed=False), f"{bad}|not a manifest"
    yield "manifest: 5 MB", text(MANIFEST, b" " * 5_000_000 + b"{}", listed=False), "has more than 4,194,304 bytes"
    for value in (99, "1", None, [1], 10**1000):
        yield f"manifest: format {str(value)[:9]}", lambda f, v=value: say(f, format=v), "has format|cannot be"
    for value in (float("nan"), float("inf"), -1, True, "5", None, [5], 10**30):
        yield (
            f"manifest: bytes {str(value)[:9]}",
            listing(bytes=value),
            "it says .* of 'model-|is not what was written",
        )
    for value in ("", "0" * 63, "Z" * 64, "0" * 64, 7, None, ["0" * 64]):
        yield f"manifest: sha256 {value}", listing(sha256=value), "it says .* of 'model-|is not what was written"
    names = ("../outside", "/etc/hostname", "a\0b", "a\nb", "a\\..\\b", "C:x", "", ".", "a/../../b", "x" * 300,
             "\x1b[2J", "pieces//source.model", "./recipe.toml")  # fmt: skip
    for name in names:
        yield f"manifest: name {name[:20]!r}", listing(name), "which is no name of a file in this folder"
    yield from more_manifest_cases()


def more_manifest_cases() -> Iterator[Case]:
    """The manifest says something else of its files, its model or its figures."""
    yield "manifest: a file that is not there", listing("pieces/other.model"), "pieces/other.model is missing"
    for value in ([], "recipe.toml", 5, {"recipe.toml": "x"}, {"recipe.toml": None}):
        yield f"manifest: files {value}", lambda f, v=value: say(f, files=v), "its list of files is none|it says"
    for value in ("gone", "recipe.tom", "../model", "/dev/zero", [], 5, "a\nb"):
        yield (
            f"manifest: model {value!r}",
            lambda f, v=value: say(f, model=v),
            "does not say which file|the name of its model",
        )
    yield "manifest: model is the recipe", lambda f: say(f, model="recipe.toml"), "is not a file of weights"
    for value in (-1, 1.5, "5", None, 10**40):
        yield f"manifest: step {str(value)[:9]}", lambda f, v=value: say(f, step=v), "its step is"
    for value in ([], "x", {"bleu": "x"}, {"bleu": [1]}, {"bleu": 10**400}):
        yield f"manifest: measured {str(value)[:15]}", lambda f, v=value: say(f, measured=v), "these are no figures"
    yield "manifest: a false seal", lambda f: say(f, format=2, seal="0" * 64), "not what was written"
    for name in ("recipe.toml", "pieces/source.model"):
        yield f"manifest: {name} is not listed", lambda f, n=name: unlisted(f, n), f"{name} is not in manifest.json"


def unlisted(folder: Path, name: str) -> None:
    say(folder, files={key: told for key, told in manifest(folder)["files"].items() if key != name})


def file_cases() -> Iterator[Case]:
    """What stands there is no plain file of the folder."""
    kinds: dict[str, tuple[Callable[[Path], object], str]] = {
        "a pipe": (os.mkfifo, "is missing|is not a plain file|is not there|has no model yet"),
        "a folder": (lambda p: p.mkdir(), "is missing|is not a plain file|is not there|has no model yet"),
        "a link to a device": (lambda p: p.symlink_to("/dev/zero"), "leads out of|has no model yet"),
        "a link to itself": (lambda p: p.symlink_to(p.name), "is missing|has no model yet|leads out"),
        "a link to /proc": (lambda p: p.symlink_to("/proc/self/environ"), "leads out of"),
    }
    for name in ("{model}", "recipe.toml", "pieces/source.model", MANIFEST):
        for kind, (make, said) in kinds.items():
            yield f"{name}: {kind}", instead(name, make), said
        yield f"{name}: a link to the outside", linked(name), "is a link that leads out of"
    yield "pieces: a link to the outside", linked("pieces"), "is a link that leads out of"
    yield "pieces: a second vocabulary, unlisted", second_pieces, "target.model is not in manifest.json"


def second_pieces(folder: Path) -> None:
    shutil.copyfile(folder / "pieces" / "source.model", folder / "pieces" / "target.model")


def recipe_cases() -> Iterator[Case]:
    """The recipe asks for too much, or for what is not its business."""
    less, finite = "less than or equal to", "finite number"
    values = {
        "width": [("1000000000", less), ("65536", "has shape"), ("-1", "greater than"), ("1e9", "valid integer|less"),
                  ("true", "cannot be split"), ("'x'", "valid integer"), ("[16]", "valid integer"),
                  ("1979-05-27", "valid integer"), ("0x" + "f" * 10_000, "valid integer|less|40 digits"),
                  ("9" * 10_000, "not a recipe: Exceeds"), ("nan", "integer|finite"), ("17", "cannot be split")],
        "encoder_layers": [("1000000000", less), ("1000", "they do not belong together"), ("2", "of another model")],
        "decoder_layers": [("999", "they do not belong together")],
        "heads": [("1000000007", less), ("65521", "divi|multiple|heads")],
        "feedforward": [("1000000000", less), ("65536", "has shape")],
        "longest": [("1000000000000", less)],
        "dropout": [("nan", finite), ("1e999", finite), ("2.0", "less than")],
        "positions": [("'learned'", "of another model")],
        "tied": [("'none'", "of another model"), ("[]", "input should be")],
        "kind": [("'recurrent'", "has no"), ("['transformer']", "has no kind"), ("{}", "no kind"), ("''", "no kind")],
        "beam": [("1000000000", less), ("0", "greater than")],
        "length_penalty": [("nan", finite), ("inf", finite)],
        "longest_ratio": [("inf", finite), ("1e300", less)],
        "cross_attention": [("'evil.py:f'", "would run the code"), ("'evil:f'", "would run the code"),
                            ("'/tmp/evil.py:f'", "would run the code"), ("'no-such'", "no-such|no_such")],
        "task": [("'mining'", "there is no task"), ("['translation']", "there is no task"), ("{}", "is no task")],
        "seed": [("9" * 4000, less), ("1" + "0" * 30, less)],
    }  # fmt: skip
    for name, lies in values.items():
        for value, said in lies:
            yield f"recipe: {name} = {value[:20]}", recipe(name, f"{name} = {value}"), said
    lines = {
        "a base outside": ("base = '/etc/hostname'", "the recipe of a run has no base"),
        "a base of a list": ("base = ['x']", "the recipe of a run has no base"),
        "an unknown section": ("[mining]\nx = 1\n[model.x]", "there is no|not TOML|nested"),
        "an unknown key": ("surprise = 1", "there is no 'surprise'"),
        "a key that moves the cursor": ('"\\u001b[2J\\n" = 1', r"there is no '\\x1b\[2J\\n'"),
        "brackets in brackets": (f"x = {'[' * 20_000}", "nested too deeply|not TOML"),
        "tables in tables": (f"x = {'{x=' * 10_000}", "nested too deeply|not TOML"),
        "a deep table": (f"[{'.'.join('a' * 60)}]", "nested too deeply|there is no"),
        "dots": (f"{'.'.join('a' * 20_000)} = 1", "more than 64 dots"),
        "a long key": (f"{'a' * 50_000} = 1", "there is no 'aaaa"),
        "a key twice": ("about = 'x'", "not TOML"),
    }
    for name, (line, said) in lines.items():
        yield f"recipe: {name}", recipe("", line), said
    yield "recipe: nobody's home", recipe("pairs", "pairs = '~nobody-of-that-name/x'"), "names a home"
    texts = {"empty": (b"", "."), "NUL": (b"\0" * 100, "not TOML"), "not UTF-8": (b"about = '\xff'", "not UTF-8"),
             "1 MB": (b"#" * 2**20, "has more than 65,536 bytes"),
             "YAML": (b"!!python/object/apply:os.system [id]", "TOML"),
             "CR": (b"about = 'x'\rtask = 'translation'", "not TOML")}  # fmt: skip
    for name, (content, said) in texts.items():
        yield f"recipe: {name}", text("recipe.toml", content), said


def weights(change: Callable[[dict[str, Any], bytes], tuple[Any, bytes]]) -> Spoil:
    """Weights whose header, or data, were changed."""

    def spoil(folder: Path) -> None:
        path = folder / manifest(folder)["model"]
        content = path.read_bytes()
        length = int.from_bytes(content[:8], "little")
        header, data = change(json.loads(content[8 : 8 + length]), content[8 + length :])
        said = header if isinstance(header, bytes) else json.dumps(header).encode()
        path.write_bytes(len(said).to_bytes(8, "little") + said + data)
        relist(folder)

    return spoil


def entry(**told: object) -> Spoil:
    """Weights whose first tensor is said to be something else."""

    def change(header: dict[str, Any], data: bytes) -> tuple[Any, bytes]:
        name = first(header)
        return {**header, name: {**header[name], **told}}, data

    return weights(change)


def first(header: dict[str, Any]) -> str:
    """The tensor that lies first and has two sides."""
    return min((name for name in header if len(header[name]["shape"]) == 2), key=lambda n: header[n]["data_offsets"])


def whole_file(content: Callable[[bytes], bytes]) -> Spoil:
    """A file of weights made of these bytes."""

    def spoil(folder: Path) -> None:
        path = folder / manifest(folder)["model"]
        path.write_bytes(content(path.read_bytes()))
        relist(folder)

    return spoil


def weight_cases() -> Iterator[Case]:
    """The file of weights lies about what is in it."""
    no = "is not a file of weights"
    for length in (0, 1, 7, 10**6, 2**31, 2**63, 2**64 - 1):
        yield (
            f"weights: a header of {length} bytes",
            whole_file(lambda c, n=length: n.to_bytes(8, "little") + c[8:]),
            no,
        )
    for size in (0, 4, 8, 9, 100, -1, -1000):
        yield f"weights: cut at {size}", whole_file(lambda c, n=size: c[:n]), no
    contents = {
        "a pickle": evil_pickle(), "a zip": b"PK\x03\x04" + bytes(500), "text": b"weights" * 100,
        "zeros": bytes(1000),
        "TensorFlow": b"\x08\x01\x12" * 90,
    }  # fmt: skip
    for name, content in contents.items():
        yield f"weights: {name}", whole_file(lambda _, c=content: c), no
    headers = {
        "no JSON": b"{", "a list": b"[]", "deep": b"[" * 100_000, "not UTF-8": b'{"\xff": 1}', "null": b"null",
        "a name twice": b'{"a": 1, "a": 2}', "of 5 MB": b" " * 5_000_000 + b"{}",
        "lists": b"[" + b"[]," * 600_000 + b"1]",
    }  # fmt: skip
    for name, header in headers.items():
        yield f"weights: header {name}", weights(lambda _, data, h=header: (h, data)), no
    for told in (None, 5, [], {}, "F32"):
        yield f"weights: entry {told}", weights(lambda h, data, t=told: ({**h, first(h): t}, data)), no
    shapes = ([2**31, 2**31], [-1, -4], [10**9, 10**9], [1.5, 2], [True, 4], ["4"], "four", None, [2**32, 2**32],
              [1] * 10**5, [0, 10**9], [[4]], 4, [10**30])  # fmt: skip
    for shape in shapes:
        yield f"weights: shape {str(shape)[:24]}", entry(shape=shape), no
    for dtype in ("F65", "f32", "", None, ["F32"], "F64", "F16", "U8", "object", "I32"):
        yield f"weights: dtype {dtype}", entry(dtype=dtype), f"{no}|numbers of kind"
    for offsets in (
        [0, 2**63],
        [-64, 0],
        [64, 0],
        [4, 68],
        [0.0, 64.0],
        [0],
        [0, 1, 2],
        "01",
        None,
        [True, 64],
        [0, 0],
    ):
        yield f"weights: offsets {offsets}", entry(data_offsets=offsets), no
    yield "weights: one more word about a tensor", entry(evil=1), no
    yield "weights: overlapping", weights(overlapping), no
    yield "weights: bytes to spare", weights(lambda h, data: (h, data + bytes(4096))), no
    yield "weights: a tensor less", weights(lambda h, data: (without_last(h), data[: last(h)[1]])), "of another model"
    yield "weights: a tensor more", weights(lambda h, data: (with_one(h, data), data + bytes(64))), "of another model"
    yield "weights: another name", weights(lambda h, data: (renamed(h), data)), "of another model"
    yield "weights: turned", weights(lambda h, data: (turned(h), data)), "has shape"
    yield "weights: of nothing", weights(lambda h, data: ({**h, "x": NOTHING}, data)), "of another model"


NOTHING = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}


def renamed(header: dict[str, Any]) -> dict[str, Any]:
    return {f"{name}x" if name == first(header) else name: told for name, told in header.items()}


def turned(header: dict[str, Any]) -> dict[str, Any]:
    return {name: {**told, "shape": told["shape"][::-1]} for name, told in header.items()}


def last(header: dict[str, Any]) -> tuple[str, int]:
    name = max(header, key=lambda n: header[n]["data_offsets"])
    return name, header[name]["data_offsets"][0]


def without_last(header: dict[str, Any]) -> dict[str, Any]:
    return {name: told for name, told in header.items() if name != last(header)[0]}


def with_one(header: dict[str, Any], data: bytes) -> dict[str, Any]:
    return {**header, "evil": {"dtype": "F32", "shape": [16], "data_offsets": [len(data), len(data) + 64]}}


def overlapping(header: dict[str, Any], data: bytes) -> tuple[Any, bytes]:
    """Two tensors of one size that lie in the same place."""
    sizes: dict[tuple[int, ...], str] = {}
    for name, told in header.items():
        other = sizes.setdefault(tuple(told["shape"]), name)
        if other != name:
            return {**header, name: header[other]}, data
    raise AssertionError("no two tensors are alike")


class _Evil:
    """Unpickled, it leaves a mark."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, ("touch code-was-run",)


def evil_pickle() -> bytes:
    import pickle

    return pickle.dumps(_Evil())


def piece_cases() -> Iterator[Case]:
    """The pieces are none, or others."""
    good = (FIXTURE / "pieces" / "source.model").read_bytes()
    no = "not a sentencepiece model|has ids"
    contents = {
        "empty": b"", "garbage": bytes(range(256)) * 20, "text": b"pieces", "a pickle": evil_pickle(),
        "zeros": bytes(999),
        "half": good[: len(good) // 2], "another message": b"\x0a\x03abc\x12\x04test", "twice": good * 2,
        "pieces alone": good[: good.index(b"<0x00>")], "a promise of 1 GB": b"\x0a\xff\xff\xff\xff\x03" + good[:100],
        "endless varint": b"\xff" * 500, "one piece": b"\x0a\x0b\x0a\x04evil\x15\0\0\0\0\x18\x01",
    }  # fmt: skip
    for name, content in contents.items():
        yield f"pieces: {name}", text("pieces/source.model", content), f"{no}|has shape|pieces"
    for at in (1, 10, 100, 1000):
        yield f"pieces: cut {at} bytes early", text("pieces/source.model", good[:-at]), f"{no}|has shape|pieces"
    yield "pieces: other bytes", text("pieces/source.model", good.replace(b"<0x41>", b"<0x4G>")), no
    yield "pieces: other controls", text("pieces/source.model", good.replace(b"<pad>", b"<bad>", 1)), no
    yield "pieces: 65 MB", sparse_pieces, "has more than 67,108,864 bytes"


def sparse_pieces(folder: Path) -> None:
    os.truncate(folder / "pieces" / "source.model", 65 * 2**20)
    relist(folder)


def cases() -> list[Case]:
    """All of them."""
    return [*manifest_cases(), *file_cases(), *recipe_cases(), *weight_cases(), *piece_cases()]
