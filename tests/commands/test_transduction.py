"""Spelling to sound and lemma to form, trained, measured, drawn and asked by the commands that translators have."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from regard.cli import main
from regard.evaluate.system import System
from regard.recipe import load, located
from regard.show.system import picture
from regard.studies.systems import main as study
from regard.text.columns import Table

SOUNDS = {"b": "B", "d": "D", "k": "K", "m": "M", "a": "AA1", "e": "EH0", "i": "IH2"}


def spelt(folder: Path) -> Path:
    """Words that are said as they are written, one of them in two ways."""
    words = [f"{a}{b}{c}" for a in "bdkm" for b in "aei" for c in "bdkm"]
    lines = [f"{word}\t{' '.join(SOUNDS[letter] for letter in word)}" for word in words]
    file = folder / "words.tsv"
    file.write_text("".join(f"{line}\n" for line in [*lines, "mad\tM AA1 D\tM EH0 D"]), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    file = str(spelt(folder))
    options = {
        **{"data.pairs": file, "data.test-pairs": file, "data.hold-out": 4, "data.columns": "pronunciations"},
        **{"model.width": 32, "model.embedding": 32, "model.dropout": 0.0, "search.beam": 1},
        **{"train.steps": 400, "train.save-every": 200, "train.threads": 1, "train.batch-tokens": 200},
        **{"train.rate": 0.01, "train.warmup": 10, "train.average": 1, "train.smoothing": 0.0},
    }
    given = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    assert main(["train", "cmudict", "--run", str(folder / "cmudict"), *given]) == 0
    return folder / "cmudict"


def test_it_learns_and_is_measured_by_edits(run):
    scores = json.loads((run / "scores.json").read_text())["test"]
    assert scores.keys() == {"exact", "wrong", "errors", "distance"}
    assert scores["exact"] > 0.8
    assert scores["wrong"] == pytest.approx(1 - scores["exact"])
    again = System.load(run).measured()["test"]
    assert again == pytest.approx(scores)


def test_sounds_are_pieces(run):
    text = System.load(run).task.text
    assert text.target.words(text.target.encode(["M AA D"])[0]) == ["\u2581M", "\u2581AA", "\u2581D"]
    assert text.source.words(text.source.encode(["mad"])[0]) == ["\u2581", "m", "a", "d"]


def test_commands_for_translators_work_for_it(run, tmp_path, capsys, monkeypatch):
    assert main(["evaluate", str(run), "--json", str(tmp_path / "found.json"), "--threads", "1"]) == 0
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["task"] == "transduction"
    assert "errors" in capsys.readouterr().out
    assert main(["show", str(run), "dim", "--out", str(tmp_path / "page.html"), "--threads", "1"]) == 0
    assert capsys.readouterr().out.split("\n")[0] == "D IH M"
    assert (tmp_path / "page.html").stat().st_size > 10_000
    assert main(["info", str(run)]) == 0
    assert "transduction" in (run / "README.md").read_text() + capsys.readouterr().out


def test_it_is_drawn_and_put_into_the_table(run, tmp_path):
    system = System.load(run)
    picture(system.task, system.model, tmp_path / "one.png")
    assert (tmp_path / "one.png").stat().st_size > 5000
    study([str(run), "--to", str(tmp_path)])
    page = (tmp_path / "systems.md").read_text()
    assert "Yao & Zweig 2015" in page


def test_two_spellings_are_two_vocabularies(tmp_path, capsys):
    given = ["--data.joint", "--data.pairs", str(spelt(tmp_path))]
    assert main(["train", "cmudict", "--run", str(tmp_path / "x"), *given]) == 2
    assert "are two vocabularies; set data.joint = false" in capsys.readouterr().err


REAL = {"cmudict": (1219, 6229), "inflection-german": (0, 1597)}


@pytest.mark.parametrize("name", REAL)
@pytest.mark.skipif("REGARD_DATA" not in os.environ, reason="the real sets are not here")
def test_real_sets_are_read(name):
    data = located(load(name)).sections()["data"]
    valid, test = REAL[name]
    if valid:
        assert len({source for _, source, _ in Table(data.valid_pairs, data.columns)}) == valid
    found = list(Table(data.test_pairs, data.columns))
    assert len({line for line, _, _ in found}) == test
    assert all(target for _, _, target in found)
