"""Systems that are no translators use the same commands: trained, resumed, told of, measured again, drawn."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest

from regard.cli import main
from regard.evaluate.system import System
from regard.show.system import picture
from regard.studies.systems import main as study
from regard.systems import SYSTEMS

SMALL = {
    "hull": ["--model.width", "12", "--data.rows", "8", "--data.held-out-rows", "10", "--data.tested", "7"],
    "ntm-copy": [
        *("--model.width", "12", "--model.places", "9", "--model.cells", "4", "--data.rows", "4", "--data.bits", "3"),
        *("--data.largest", "3", "--data.held-out-rows", "6", "--data.tested", "5"),
    ],
    "news": [
        *("--model.width", "8", "--model.embedding", "8", "--data.rows", "4", "--data.largest", "3"),
        *("--data.held-out-rows", "4", "--data.tested", "4", "--search.beam", "2"),
    ],
    "lstmn-recall": [
        *("--model.width", "8", "--model.hidden", "6", "--data.rows", "4", "--data.distance", "5"),
        *("--data.held-out-rows", "20"),
    ],
    "strokes": [
        *("--data.side", "9", "--data.rows", "2", "--data.held-out-rows", "10", "--data.held-out-alphabets", "1"),
        *("--images.convolutions", "2", "--images.filters", "8", "--images.width", "8", "--model.width", "4"),
    ],
    "bandit": ["--data.rows", "8", "--data.held-out-rows", "50", "--data.pulls", "4", "--model.width", "4"],
    "crops-made-up": [
        *("--data.dates", "8", "--data.rows", "8", "--data.held-out-rows", "20", "--model.width", "8"),
        *("--model.feedforward", "8", "--model.heads", "2"),
    ],
    "stories": [
        *("--model.width", "16", "--model.feedforward", "16", "--model.most", "3", "--data.rows", "4"),
        *("--data.held-out-rows", "10"),
    ],
}

KINDS = {"hull": "points", "ntm-copy": "tape", "news": "prose", "strokes": "image", "crops-made-up": "series"}
"""How each is seen on its page, where that is not as words."""


def trained(name: str, folder: Path, steps: int) -> int:
    options = [
        "--train.steps",
        str(steps),
        "--train.save-every",
        "2",
        "--train.threads",
        "1",
        "--train.schedule",
        "constant",
    ]
    return main(["train", name, "--run", str(folder), *options, *SMALL[name]])


@pytest.fixture(scope="module", params=list(SMALL))
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / request.param
    assert trained(request.param, folder, 4) == 0
    return Path(folder)


def test_a_run_that_was_cut_in_two_equals_one_that_was_not(run, tmp_path):
    name = run.name
    assert trained(name, tmp_path / name, 2) == 0
    assert trained(name, tmp_path / name, 4) == 0
    file = json.loads((run / "manifest.json").read_text())["model"]
    if file == json.loads((tmp_path / name / "manifest.json").read_text())["model"]:
        assert (run / file).read_bytes() == (tmp_path / name / file).read_bytes()
    newest = max(path.name for path in (run / "saves").iterdir())
    ours, theirs = ((where / "saves" / newest) for where in (run, tmp_path / name))
    weights = [path.name for path in ours.glob("*.safetensors")]
    assert weights
    assert all((ours / one).read_bytes() == (theirs / one).read_bytes() for one in weights)


def test_what_is_measured_again_is_what_was_measured_at_the_end(run):
    scores = json.loads((run / "scores.json").read_text())
    again = System.load(run).measured()
    assert again.keys() == scores.keys() - {"step", "valid"}
    for split, figures in again.items():
        assert figures == pytest.approx(scores[split], nan_ok=True, rel=1e-4)


def test_it_is_told_of_and_has_a_card(run, capsys):
    assert main(["info", str(run)]) == 0
    told = capsys.readouterr().out
    assert "generated" in told
    assert "finished" in told
    assert "generated" in (run / "README.md").read_text()
    assert (run / "loss.png").is_file()


def test_the_command_measures_it_and_writes_json(run, tmp_path, capsys):
    assert main(["evaluate", str(run), "--json", str(tmp_path / "found.json")]) == 0
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["task"] in SYSTEMS
    names = {name for figures in found["scores"].values() for name in figures}
    assert names & {"exact", "right", "reward"}
    assert names & {"exact", "right", "reward"} & set(capsys.readouterr().out.split())


def test_it_is_drawn_and_put_into_the_table(run, tmp_path):
    system = System.load(run)
    picture(system.task, system.model, tmp_path / "one.png")
    assert (tmp_path / "one.png").stat().st_size > 5000
    study([str(run), "--to", str(tmp_path)])
    page = (tmp_path / "systems.md").read_text()
    assert f"## {run.name}" in page
    assert "| paper |" in page
    assert json.loads((tmp_path / "systems.json").read_text())[run.name]["weights"] > 0


def test_the_command_draws_it(run, tmp_path, capsys):
    assert main(["show", str(run), "--png", str(tmp_path / "seen.png")]) == 0
    assert (tmp_path / "seen.png").stat().st_size > 5000
    assert "seen.png" in capsys.readouterr().out
    assert main(["show", str(run), "some text"]) == 2
    assert "is no translator" in capsys.readouterr().err


def test_what_it_looked_at_is_a_page(run, tmp_path, capsys):
    """Every weight on it is one that was seen: rows of weights of what is asked sum to one, or to nothing."""
    assert main(["show", str(run), "--out", str(tmp_path / "page.html")]) == 0
    assert "page.html" in capsys.readouterr().out
    html = (tmp_path / "page.html").read_text()
    data = json.loads(re.search(r'id="regard-data">(.*?)</script>', html, re.S)[1])
    looks = data["views"][run.name]["looks"]
    assert {trace["kind"] for trace in looks["traces"]} >= {KINDS.get(run.name, "text")}
    for trace in looks["traces"]:
        rows, columns = (len(looks["labels"][trace[side]]) for side in ("queries", "keys"))
        table = np.frombuffer(b64decode(trace["weights"]), np.uint8).reshape(rows, columns)
        weights = np.where(table == 255, 0, table) * trace["scale"] / 254
        assert (weights.sum(1) < 1 + 0.003 * columns).all()
        assert weights.max() > 0


def test_what_looks_at_nothing_has_no_page(tmp_path, capsys):
    small = ["--model.width", "8", "--data.rows", "4", "--data.distance", "5", "--data.held-out-rows", "20"]
    more = ["--train.steps", "2", "--train.save-every", "2", "--train.threads", "1"]
    assert main(["train", "lstm-recall", "--run", str(tmp_path / "run"), *small, *more]) == 0
    assert main(["show", str(tmp_path / "run"), "--out", str(tmp_path / "page.html")]) == 2
    assert "looks at nothing" in capsys.readouterr().err


def test_translating_with_it_is_refused_in_a_sentence(run, capsys):
    assert main(["translate", str(run)]) == 2
    assert "not a translator" in capsys.readouterr().err


def test_sizes_out_of_order_are_refused(tmp_path, capsys):
    assert main(["train", "hull", "--run", str(tmp_path / "x"), "--data.smallest", "9", "--data.largest", "5"]) == 2
    assert "not in order" in capsys.readouterr().err
    assert main(["train", "news", "--run", str(tmp_path / "x"), "--data.smallest", "9", "--data.largest", "5"]) == 2
    assert "not in order" in capsys.readouterr().err


def test_texts_come_from_one_place(tmp_path, capsys):
    (tmp_path / "mine.toml").write_text('about = "Mine."\ntask = "copying"\n')
    assert main(["train", str(tmp_path / "mine.toml"), "--run", str(tmp_path / "x")]) == 2
    assert "--data.articles FILE or --data.generated news" in capsys.readouterr().err


@pytest.mark.filterwarnings("error:Glyph")
def test_letters_without_ink_are_drawn(tmp_path):
    """A tab and a blank, which fonts have no picture for."""
    file = tmp_path / "sounds.tsv"
    file.write_text("".join(f"{word * 5}\tAH0 B EY1 {word.upper()}\n" for word in ("ab", "cd", "ef") * 40))
    options = [f"--data.{name}={file}" for name in ("text", "valid-text", "test-text")]
    options += ["--train.steps=1", "--train.threads=1", "--model.width=8", "--model.hidden=6"]
    assert main(["train", "lstmn-dictionary", "--run", str(tmp_path / "run"), *options]) == 0
    assert main(["show", str(tmp_path / "run"), "--png", str(tmp_path / "seen.png")]) == 0
