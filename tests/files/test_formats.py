"""F6: a run folder of every format there was loads for ever, and says what it said. `make_fixture.py` made them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.cli import main
from regard.train.folder import READABLE, read_manifest
from regard.translate.translator import Translator

HERE = Path(__file__).parent
RUNS = sorted(path.parent for path in HERE.glob("format-*/*/manifest.json"))


def test_there_is_one_of_each() -> None:
    assert {run.parent.name for run in RUNS} == {f"format-{number}" for number in READABLE}
    assert all(read_manifest(run)["format"] == int(run.parent.name[-1]) for run in RUNS)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.parent.name}/{run.name}")
def test_it_says_what_it_said(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = json.loads((run.parent / "said.json").read_text(encoding="utf-8"))
    results = Translator.load(run)(list(said), attention=True)
    assert [result.text for result in results] == list(said.values())
    assert main(["info", str(run)]) == 0
    assert "finished" in capsys.readouterr().out
