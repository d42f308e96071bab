"""A choice of heads lies in the run's manifest, travels with it, and breaks nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from regard.train.folder import MANIFEST, NotARun, damage, one_process, relist, sealed
from regard.translate.heads import Heads, store, stored
from regard.translate.translator import Translator
from tests.translate.toys import RUN


@pytest.fixture(params=["format-1", "format-2"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    shutil.copytree(RUN.parent.parent / request.param / RUN.name, tmp_path / "run")
    return tmp_path / "run"


def test_it_is_kept_and_used_wherever_the_folder_goes(run: Path) -> None:
    assert stored(run) is None
    before = Translator.load(run)(["one red dog"])[0].text
    store(run, Heads(0, (1,)), by="gold", score=0.1, lines=3)
    assert damage(run) is None
    moved = run.rename(run.with_name("elsewhere"))
    assert stored(moved) == Heads(0, (1,))
    translator = Translator.load(moved)
    assert (translator.layer, translator.heads) == (0, (1,))
    assert translator(["one red dog"])[0].text == before
    told = json.loads((moved / MANIFEST).read_text())
    assert told["alignment"] == {"layer": 0, "heads": [1], "by": "gold", "score": 0.1, "lines": 3}
    assert "seal" in told


def test_what_is_given_comes_first(run: Path) -> None:
    store(run, Heads(0, (1,)))
    by_hand = Translator.load(run, heads=(0,))
    assert (by_hand.layer, by_hand.heads) == (None, (0,))


def test_listing_a_file_anew_keeps_it(run: Path) -> None:
    store(run, Heads(0, (1,)))
    recipe = run / "recipe.toml"
    recipe.write_text(recipe.read_text() + "\n")
    relist(run, "recipe.toml")
    assert stored(run) == Heads(0, (1,))


def test_a_changed_choice_is_seen(run: Path) -> None:
    store(run, Heads(0, (1,)))
    path = run / MANIFEST
    path.write_text(path.read_text().replace('"layer": 0', '"layer": 1'))
    with pytest.raises(NotARun, match="its SHA-256 differs"):
        stored(run)


@pytest.mark.parametrize("told", [7, {"layer": "0", "heads": [1]}, {"layer": 0, "heads": []}, {"layer": 0},
                                  {"layer": True, "heads": [0]}, {"layer": -1, "heads": [0]},
                                  {"layer": 0, "heads": [10**30]}])  # fmt: skip
def test_whoever_made_the_folder_it_is_checked(run: Path, told: object) -> None:
    content = json.loads((run / MANIFEST).read_text())
    (run / MANIFEST).write_text(sealed({**content, "format": 2, "alignment": told}))
    with pytest.raises(NotARun, match="as its choice of heads; choose them anew"):
        Translator.load(run)


def test_not_while_the_run_is_being_written(run: Path) -> None:
    with one_process(run), pytest.raises(ValueError, match="is in use by process"):
        store(run, Heads(0, (1,)))


@pytest.mark.parametrize(
    ("heads", "told"),
    [
        (Heads(), "the last layer but one, all heads"),
        (Heads(2), "layer 2, all heads"),
        (Heads(2, (1,)), "layer 2, head 1"),
        (Heads(0, (1, 2, 3)), "layer 0, heads 1, 2 and 3"),
    ],
)
def test_in_words(heads: Heads, told: str) -> None:
    assert str(heads) == told
