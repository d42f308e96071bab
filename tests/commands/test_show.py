"""`regard show` as a person meets it."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from regard.cli import main

TOYS = Path(__file__).parent.parent / "files" / "format-1"
RUN = str(TOYS / "transformer")


def views(path: Path) -> dict[str, dict[str, object]]:
    inside = re.search(r'id="regard-data">(.*?)</script>', path.read_text(encoding="utf-8"), re.S)
    assert inside is not None
    found: dict[str, dict[str, object]] = json.loads(inside[1])["views"]
    return found


def test_two_runs_on_one_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "page.html"
    other = str(TOYS / "recurrent")
    assert main(["show", RUN, "one red dog", "--out", str(out), "--compare", other, "--threads", "1"]) == 0
    told = capsys.readouterr().out
    assert "transformer: eins rot Hund" in told
    assert "recurrent: eins rot Hund" in told
    found = views(out)
    assert set(found) == {"transformer", "recurrent"}
    for answers in found.values():
        assert {"translation", "heads", "film", "beam", "steps"} <= set(answers)


def test_figures_need_no_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    assert main(["show", RUN, "one red dog", "--png", "a.png", "--svg", "a.svg", "--threads", "1"]) == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(tmp_path / "a.svg").getroot().tag.endswith("svg")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "there is nothing to show; give a run and a text"),
        (["nowhere", "hello"], "nowhere"),
        ([RUN, " "], "there is no text to translate"),
        ([RUN, "one", "--heads", "9"], "there is no head 9"),
        ([RUN, "one", "--beam", "99"], "beam: Input should be less than or equal to 16"),
    ],
)
def test_errors_are_one_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", *words, "--threads", "1"]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
