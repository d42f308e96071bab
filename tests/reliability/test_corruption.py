"""T4 in small: flipped bytes and cut files in saves and model are seen, named and passed over."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from regard.train.folder import MANIFEST, damage, model_of, sealed
from tests.reliability.corruption import in_a_save, in_the_model, run_with_saves
from tests.train.zygote import Zygote


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with Zygote() as zygote:
        return run_with_saves(zygote, tmp_path_factory.mktemp("saves"))


@pytest.mark.parametrize("place", [in_a_save, in_the_model], ids=["a save", "the model"])
def test_damage_is_seen_before_use_and_named(run: Path, place: object) -> None:
    seed = random.randrange(10**6)
    for number in range(30):
        assert place(run, random.Random(f"{seed} {number}")) is None, seed  # type: ignore[operator]


def test_every_byte_of_a_manifest_counts(run: Path) -> None:
    path = run / "saves" / "00000030"
    content = (path / MANIFEST).read_bytes()
    assert damage(path) is None
    for place in range(0, len(content), 7):
        (path / MANIFEST).write_bytes(content[:place] + bytes([content[place] ^ 2]) + content[place + 1 :])
        assert damage(path) == f"{path / MANIFEST} is missing or unreadable"
    (path / MANIFEST).write_bytes(content)
    assert damage(path) is None


def test_a_run_of_the_first_format_is_read(run: Path) -> None:
    """Manifests had no seal then."""
    import json

    content = (run / MANIFEST).read_text(encoding="utf-8")
    try:
        told = {**json.loads(content), "format": 1}
        (run / MANIFEST).write_text(sealed(told), encoding="utf-8")
        assert model_of(run).is_file()
        told.pop("seal")
        (run / MANIFEST).write_text(json.dumps(told), encoding="utf-8")
        assert model_of(run).is_file()
    finally:
        (run / MANIFEST).write_text(content, encoding="utf-8")
