"""F4 and F5: whatever the bytes, a reader ends well or with its documented error. `make fuzz` does so for minutes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from fuzz.plain import changed, tries
from fuzz.targets import TARGETS, seeds

import regard.files
import regard.toml
from regard.recipe import load

COUNT = {"reader": 200, "recipe": 80, "manifest": 150, "pieces": 100, "weights": 150, "body": 200, "tags": 150}


def fuzzed(name: str) -> None:
    for data in tries(seeds(name), seed=7, count=COUNT[name]):
        TARGETS[name](data)


@pytest.mark.parametrize("name", TARGETS)
def test_any_bytes_end_well_or_with_a_sentence(name: str) -> None:
    fuzzed(name)


def test_the_fuzzer_finds_what_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that cannot show the value it refuses is noticed within the same tries."""
    monkeypatch.setattr(regard.toml, "quoted", lambda value: {}[str(value)])
    with pytest.raises(KeyError):
        fuzzed("recipe")


def test_changes_come_from_the_seed_alone() -> None:
    some = [changed(random.Random(3), b"one two three\n" * 20) for _ in range(2)]
    assert some[0] == some[1] != b"one two three\n" * 20


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = " + "[" * 5000, "nested too deeply"),
        ("[model]\nwidth = " + "[" * 50 + "]" * 50, "nested too deeply"),
        (".".join("a" * 200) + " = 1", r"recipe.toml:1: more than 64 dots in a line"),
        ("about = 'x'\n[train]\nsteps = " + "9" * 5000, "not a recipe: Exceeds the limit"),
        ("about = 'x'\n[train]\nseed = 0x" + "f" * 5000, "train.seed: .*, not a number of more than 40 digits"),
        ("about = 'x'\n[train]\nrate = nan", "train.rate: input should be a finite number"),
        ("about = 'x'\n[train]\nrate = 1e999", "train.rate: input should be a finite number"),
        ("task = ['translation']", r"there is no task \['translation'\]"),
        ("[model]\nkind = {}", r"\[model\] has no kind {}"),
        ("[data]\nsource = '~nobody-of-that-name/x'", "names a home"),
        ("#" * 70_000, "has more than 65,536 bytes"),
        ('"\\u001b[2J" = 1', r"there is no '\\x1b\[2J'"),
    ],
)
def test_what_a_recipe_may_not_be(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "recipe.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=said) as caught:
        load(file)
    assert len(str(caught.value)) < 1000


def test_json_has_one_meaning() -> None:
    for text in (
        '{"a": 1, "a": 2}',
        "[" * 5000,
        '{"a":' * 5000,
        "[1]",
        "1" * 5000,
        '{"a": ' + "[" * 20 + "]" * 20 + "}",
    ):
        with pytest.raises(ValueError, match=r"twice|deeply|not an object|Exceeds|Expecting"):
            regard.files.json_object(text)
