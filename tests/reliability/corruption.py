"""T4: bytes flipped and files cut short in saves and model: seen before use and named, and an older save is used."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from regard.train.folder import NotARun, model_of, read_manifest
from regard.train.saves import Saves, step_of
from regard.translate.translator import Translator
from tests.reliability.report import Row, each, row
from tests.train.toys import command, sentences, write_pairs
from tests.train.zygote import Zygote

LENGTH = ("--train.steps", 30, "--train.save-every", 10, "--train.average", 2)


def run_with_saves(zygote: Zygote, folder: Path) -> Path:
    """A translator of which three saves are whole."""
    files = write_pairs(folder / "text", sentences(60))
    run, out = folder / "run", folder / "out"
    assert zygote.run(command("transformer", run, files, *LENGTH, "--train.keep", 3), out) == 0, out.read_text(
        "utf-8"
    )
    return run


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Some bytes flipped, or an end cut off."""
    if rng.random() < 0.25:
        return content[: rng.randrange(len(content))]
    found = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 8])):
        found[rng.randrange(len(found))] ^= rng.choice([1 << rng.randrange(8), rng.randrange(1, 256)])
    return bytes(found) if bytes(found) != content else damaged(content, rng)


def in_a_save(run: Path, rng: random.Random) -> str | None:
    """Damage one or more of the newest saves: the newest whole one is found, and each damaged file is named."""
    saves = Saves(run / "saves", every=10, average=2, keep=3)
    newest_first = sorted(saves.folder.glob("[0-9]*"), key=step_of, reverse=True)
    count = rng.choice([1, 1, 2])
    hurt = [rng.choice(sorted(path.iterdir())) for path in newest_first[:count]]
    before = {file: file.read_bytes() for file in hurt}
    try:
        for file, content in before.items():
            file.write_bytes(damaged(content, rng))
        path, wrong = saves.newest()
        if path != newest_first[count]:
            return f"{[f'{file.parent.name}/{file.name}' for file in hurt]} damaged: {path} was used"
        unnamed = [file.name for file, said in zip(hurt, wrong, strict=True) if str(file) not in said]
        return f"{unnamed} not named in {wrong}" if unnamed else None
    finally:
        for file, content in before.items():
            file.write_bytes(content)


def in_the_model(run: Path, rng: random.Random) -> str | None:
    """Damage one of the files that translating needs: it is refused, and named."""
    names = [*read_manifest(run)["files"], "manifest.json"]
    file = run / rng.choice(sorted(names))
    content = file.read_bytes()
    load: Callable[[Path], object] = Translator.load if rng.random() < 0.05 else model_of
    try:
        file.write_bytes(damaged(content, rng))
        load(run)
    except (NotARun, ValueError) as error:
        return None if file.name in str(error) else f"{file.name} not named in: {error}"
    finally:
        file.write_bytes(content)
    return f"{file.name} damaged and not seen"


def check(work: Path, quick: bool, seed: int) -> list[Row]:
    """T4: a thousand times, half of them in saves."""
    began, count = time.monotonic(), 60 if quick else 1000
    with Zygote() as zygote:
        run = run_with_saves(zygote, work)
    places = [in_a_save, in_the_model]

    def one(number: int) -> str | None:
        return places[number % 2](run, random.Random(f"{seed} {number}"))

    wrong = each("T4", range(count), one)
    shutil.rmtree(run)
    what = "bytes flipped and files cut short in every file of saves and model"
    return [row("T4", what, "1 000/1 000 seen before use and named, older save used", wrong, began)]
