"""`regard evaluate`: the figures of `sacrebleu`, the page, the choice of heads, and mistakes told in a sentence."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from regard.cli import main
from regard.train.folder import MANIFEST, damage
from regard.translate.heads import Heads, stored
from tests.translate.toys import RUN

PAGE = Path(__file__).parent.parent.parent / "docs" / "evaluating.md"
SOURCE = ["one red dog", "two blue cat house", "house three four five one", "", "five five cat red <b>"]
RIGHT = ["eins rot Hund", "zwei blau Katze Haus", "Haus drei vier fünf zwei", "", "fünf fünf & Katze rot"]
LINKS = ["0-0 1-1 2-2", "0-0 1-1 2-2 3-3", "0-0 1-1 2-2 3-3 4?4", "", "0-0 1-1 2-3 3p4"]


class Told(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a run, text for it and gold links."""
    shutil.copytree(RUN, tmp_path / "toy")
    for name, some in {"source": SOURCE, "right": RIGHT, "links": LINKS}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in some), encoding="utf-8")
    return tmp_path


@pytest.fixture
def evaluate(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, place: Path):  # type: ignore[no-untyped-def]
    monkeypatch.chdir(place)
    monkeypatch.setattr("regard.evaluate.run.WAITED_FOR", 2)

    def run(*words: object) -> Told:
        code = main(["evaluate", *map(str, words), "--threads", "1"])
        return Told(code, *capfd.readouterr())

    return run


FILES = ("--source", "source", "--reference", "right")


def figures(name: str = "o.json") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(name).read_text(encoding="utf-8"))
    return found


class TestScores:
    def test_those_of_the_sacrebleu_command_on_what_translate_writes(self, evaluate, place: Path) -> None:  # type: ignore[no-untyped-def]
        Path("right.gz").write_bytes(gzip.compress(Path("right").read_bytes()))
        told = evaluate(
            "toy", "--source", "source", "--reference", "right.gz", "--json", "o.json", "--translations", "t"
        )
        assert told.code == 0
        found = figures()
        with Path("source").open("rb") as text:
            command = [sys.executable, "-m", "regard", "translate", "toy", "--threads", "1"]
            said = subprocess.run(command, stdin=text, capture_output=True, check=True).stdout
        assert Path("t").read_bytes() == said
        words = [sys.executable, "-m", "sacrebleu", "right", "-i", "t", "-m", "bleu", "chrf", "ter", "-w", "6"]
        done = subprocess.run([*words, "--chrf-word-order", "2"], capture_output=True, check=True)
        theirs = {one["name"]: one for one in json.loads(done.stdout)}
        for key, name in {"bleu": "BLEU", "chrf": "chrF2++", "ter": "TER"}.items():
            assert found[key] == pytest.approx(theirs[name]["score"], abs=1e-6)
            signature = found["scores"][key]["signature"]
            assert signature.replace("bs:1000|seed:12345|", "") == theirs[name]["signature"]
            assert f"{name}|{signature}\n" in told.out
        lines = said.decode().split("\n")[:-1]
        assert found["exact"] == sum(a == b for a, b in zip(lines, RIGHT, strict=True)) / 5
        assert found["lines"] == 5
        assert found["speed"]["pieces"] > 20
        assert found["speed"]["pieces_a_second"] > 0
        assert [one["line"] for one in found["worst"] + found["best"]].count(4) == 0  # the empty one
        assert sum(bucket["lines"] for bucket in found["by_length"]["buckets"]) == 5
        assert Path("report.html").is_file()  # beside the JSON
        assert not Path("toy/report.html").exists()

    def test_without_files_what_the_run_put_aside(self, evaluate, place: Path) -> None:  # type: ignore[no-untyped-def]
        (place / "toy" / "data").mkdir()
        for name in ("test", "held_out"):
            last = "zwei blau Katze" if name == "test" else "deux"
            rows = [[1, "one red dog", "eins rot Hund"], [2, "two blue cat", last]]
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (place / "toy" / "data" / f"{name}.jsonl").write_text(text)
        told = evaluate("toy", "--json", "o.json", "--resamples", 0, "--report", "page.html")
        assert told.code == 0
        assert "held_out (2 lines)" in told.out
        found = figures()
        assert (found["set"], found["exact"]) == ("test", 1.0)
        assert found["sets"]["held_out"]["exact"] == 0.5
        assert found["scores"]["bleu"]["half"] is None
        assert "held_out" in Path("page.html").read_text(encoding="utf-8")

    def test_the_page_lies_with_the_run_where_nothing_else_is_said(self, evaluate) -> None:  # type: ignore[no-untyped-def]
        told = evaluate("toy", *FILES, "--resamples", 0, "--beam", 1)
        assert "the page is toy/report.html\n" in told.err
        page = Path("toy/report.html").read_text(encoding="utf-8")
        assert "&lt;b&gt;" in page
        assert "<b>five" not in page
        assert damage(Path("toy")) is None

    def test_a_tokenised_reference_is_warned_of(self, evaluate) -> None:  # type: ignore[no-untyped-def]
        Path("right").write_text("eins rot Hund .\nzwei , blau\nc\n\ne .\n", encoding="utf-8")
        told = evaluate("toy", *FILES, "--json", "o.json", "--resamples", 0)
        assert told.err.startswith("warning: the reference looks tokenised (100% ")
        assert len(figures()["warnings"]) == 2  # and an empty line
        told = evaluate("toy", *FILES, "--json", "o.json", "--resamples", 0, "--tokenize", "none")
        assert "looks tokenised" not in told.err
        assert "tok:none" in figures()["scores"]["bleu"]["signature"]


class TestSeveral:
    def test_compared_with_the_first(self, evaluate, place: Path) -> None:  # type: ignore[no-untyped-def]
        shutil.copytree(RUN.parent / "recurrent", place / "other")
        told = evaluate("toy", "other", *FILES, "--json", "o.json", "--trials", 50)
        assert told.code == 0
        found = figures()
        assert [one["run"] for one in found["runs"]] == ["toy", "other"]
        first, second = found["paired"]["metrics"]["bleu"]["rows"]
        assert first["p"] is None
        assert 0 < second["p"] <= 1
        assert first["score"] == pytest.approx(found["runs"][0]["bleu"])
        assert "bs:50" in found["paired"]["metrics"]["bleu"]["signature"]
        assert "2 translators compared" in Path("report.html").read_text(encoding="utf-8")


class TestHeads:
    def test_the_error_rate_and_the_choice_that_stays(self, evaluate) -> None:  # type: ignore[no-untyped-def]
        given = ("toy", *FILES, "--links", "links", "--json", "o.json", "--resamples", 0)
        rates = {}
        for head in (0, 1):
            evaluate(*given, "--layer", 0, "--heads", head)
            rates[head] = figures()["aer"]
        assert stored(Path("toy")) is None
        told = evaluate(*given, "--choose-heads")
        found = figures()
        assert found["aer"] <= min(rates.values())
        assert found["heads"]["by"] == "gold"
        choice = stored(Path("toy"))
        assert choice is not None
        assert list(choice.heads or ()) == found["heads"]["heads"]["heads"]
        assert f"links are now read from {choice}: AER " in told.out
        assert damage(Path("toy")) is None
        evaluate(*given)  # it is used from now on
        assert figures()["aer"] == found["aer"]

    def test_without_gold_links(self, evaluate, place: Path) -> None:  # type: ignore[no-untyped-def]
        shutil.copytree(RUN, place / "back")
        evaluate("toy", *FILES, "--choose-heads", "--json", "o.json", "--resamples", 0)
        assert figures()["heads"]["by"] == "itself"
        evaluate("toy", *FILES, "--choose-heads", "--reverse", "back", "--json", "o.json", "--resamples", 0)
        assert figures()["heads"]["by"] == "both directions"
        assert isinstance(stored(Path("toy")), Heads)
        assert stored(Path("back")) is None


class TestMistakes:
    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ([], "name the folder of a trained translator"),
            (["nowhere"], "there is no run folder nowhere"),
            (["toy"], "names no test text; give some with --source F --reference F"),
            (["toy", "--source", "source"], "give both --source F and --reference F"),
            (["toy", "--reference", "right"], "give both --source F and --reference F"),
            (["toy", "toy", *FILES], "a run is named twice"),
            (["toy", "toy/", "--source", "source"], "a run is named twice"),
            (["toy", *FILES, "--reverse", "toy"], "give --choose-heads with it"),
            (["toy", *FILES, "--json", "no/where.json"], "there is no folder no"),
            (["toy", *FILES, "--report", "toy"], "toy cannot be written"),
            (["toy", *FILES, "--beam", "0"], "beam: Input should be greater than or equal to 1"),
            (["toy", *FILES, "--links", "source"], "source:1: 'one' is no link"),
            (["toy", "--source", "source", "--reference", "short"], "short:2: there is no such line"),
            (["toy", *FILES, "--layer", "7", "--links", "links"], "there is no layer 7"),
        ],
    )
    def test_one_sentence(self, evaluate, words: list[str], said: str) -> None:  # type: ignore[no-untyped-def]
        Path("short").write_text("eins\n", encoding="utf-8")
        told = evaluate(*words)
        assert told.code == 2
        assert said in told.err
        assert len([line for line in told.err.splitlines() if "warning" not in line]) == 1
        assert told.out == ""

    def test_a_damaged_model(self, evaluate) -> None:  # type: ignore[no-untyped-def]
        path = Path("toy", MANIFEST)
        path.write_text(path.read_text().replace("400", "401"))
        told = evaluate("toy", *FILES)
        assert told.code == 2
        assert "toy" in told.err


def test_help_needs_no_torch() -> None:
    code = "import sys; from regard.cli import main\ntry: main(['evaluate', '--help'])\n"
    code += "finally: assert 'torch' not in sys.modules and 'sacrebleu' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    options = set(re.findall(r"(--[a-z][a-z0-9-]+)", done.stdout)) - {"--help"}
    named = set(re.findall(r"`(?:[^`\n]*\s)?(--[a-z][a-z0-9-]+)", PAGE.read_text(encoding="utf-8")))
    documented = set(re.findall(r"(--[a-z][a-z0-9-]+)", PAGE.read_text(encoding="utf-8")))
    assert options <= documented, f"docs/evaluating.md says nothing of {sorted(options - documented)}"
    assert named
