"""`regard info`: a run folder, read without torch."""

import json
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file

from regard.cli import main
from regard.recipe import dump, load


@pytest.fixture
def run(tmp_path):
    """A run folder as training leaves it."""
    folder = tmp_path / "run"
    (folder / "data").mkdir(parents=True)
    (folder / "recipe.toml").write_text(dump(load("dates")), encoding="utf-8")
    (folder / "data" / "ready.json").write_text(json.dumps({"pairs": 39942, "where": "dates"}))
    (folder / "log.jsonl").write_text('{"step": 50, "epoch": 0}\n{"step": 1250, "epoch": 9}\n{"st')
    weights = {"a": np.zeros((10, 20)), "b": np.zeros(5), "c": np.zeros(())}
    save_file(weights, folder / "model-00001000.safetensors", {"x": "y"})
    manifest = {
        "format": 1,
        "files": {},
        "step": 1000,
        "model": "model-00001000.safetensors",
        "measured": {"bleu": 97.25},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def told(run, capsys):
    assert main(["info", str(run)]) == 0
    return capsys.readouterr().out


def test_a_run_tells_its_recipe_state_data_and_scores(run, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    text = told(run, capsys)
    for part in ("Dates written in many languages", "39,942 pairs of dates", "step 1,250 of", "epoch 9; not finished",
                 "step 1,000, in model-00001000.safetensors", "bleu 97.25", "kind transformer", "206"):  # fmt: skip
        assert part in text


def test_a_finished_run_tells_its_test_scores(run, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    scores = {"step": 1000, "valid": {"bleu": 97.25}, "test": {"exact": 0.9912}, "held_out": {"exact": 0.5}}
    (run / "scores.json").write_text(json.dumps(scores))
    text = told(run, capsys)
    for part in ("finished", "exact 0.9912", "scores on held_out", "exact 0.5"):
        assert part in text


def test_a_run_that_was_stopped_between_two_lines_of_its_log_tells_the_step_it_saved(run, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("00000900", "00001280", "00001290~"):  # the last was being written
        (run / "saves" / name).mkdir(parents=True)
    assert "step 1,280 of" in told(run, capsys)


def test_a_run_that_has_only_begun_is_told_too(run, capsys):
    for name in ("manifest.json", "log.jsonl", "data/ready.json", "model-00001000.safetensors"):
        (run / name).unlink()
    text = told(run, capsys)
    for part in ("no model yet", "not made ready yet", "step 0"):
        assert part in text


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda run: run.rename(run.with_name("other")), "there is no run folder"),
        (lambda run: (run / "recipe.toml").unlink(), "has no recipe.toml; copy the run as a whole"),
        (lambda run: [(run / name).unlink() for name in ("recipe.toml", "manifest.json")], "is not a run folder"),
        (lambda run: (run / "manifest.json").write_text("{"), "manifest.json: not readable as JSON"),
        (lambda run: (run / "data" / "ready.json").write_text("{"), "ready.json: not readable as JSON"),
        (lambda run: (run / "recipe.toml").write_text("[trian]"), "recipe.toml:1: there is no [trian]"),
    ],
)
def test_what_is_no_run_is_one_line(spoil, message, run, capsys):
    spoil(run)
    assert main(["info", str(run)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_it_needs_no_torch(run):
    code = f"""
import sys
from regard.cli import main
for arguments in (["info", {str(run)!r}], ["recipes", "list"], ["recipes", "show", "dates"], ["data", "list"]):
    assert main(arguments) == 0
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True)


def test_a_run_tells_what_it_was_made_with(run, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert "threads" not in told(run, capsys)
    for step, threads in ((900, 1), (1280, 2)):
        save = run / "saves" / f"{step:08d}"
        save.mkdir(parents=True)
        state = {"progress": {"step": step}, "threads": threads, "regard": "0.1.0 (commit 1a2b3c4)"}
        (save / "state.json").write_text(json.dumps(state))
    assert "threads 2, regard 0.1.0 (commit 1a2b3c4)" in told(run, capsys)  # the newest save's
    (save / "state.json").write_text("{")
    assert main(["info", str(run)]) != 0
    assert "state.json: not readable as JSON" in capsys.readouterr().err
    (save / "state.json").unlink()
    (save / "state.json").symlink_to("/etc/hostname")
    assert main(["info", str(run)]) != 0
    assert "is a link that leads out of" in capsys.readouterr().err
