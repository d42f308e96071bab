"""`regard runs`: all runs below a folder at a glance."""

import subprocess
import sys

import pytest

from regard.cli import main
from regard.recipe import dump, load
from regard.train.folder import one_process, sealed, whole_folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three runs as training leaves them: one finished, one stopped, one whose recipe is unreadable."""
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("a/done", "b", "broken"):
        run = tmp_path / name
        (run / "saves").mkdir(parents=True)
        (run / "recipe.toml").write_text(dump(load("dates")), encoding="utf-8")
        (run / "log.jsonl").write_text('{"step": 1250, "epoch": 9}\n{"st')
        for step in (500, 1000):
            with whole_folder(run / "saves" / f"{step:08d}") as beside:
                (beside / "weights.safetensors").write_bytes(b"x" * step)
    (tmp_path / "a/done/scores.json").write_text("{}")
    measured = {"loss": 0.5, "perplexity": 1.6, "bleu": 97.25}
    told = {"format": 2, "files": {}, "step": 1000, "model": "m", "measured": measured}
    (tmp_path / "a/done/manifest.json").write_text(sealed(told))
    (tmp_path / "broken/recipe.toml").write_text("[trian]\n")
    return tmp_path


def told(folder, capsys):
    assert main(["runs", str(folder)]) == 0
    return {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}


def test_each_run_is_a_line(folder, capsys):
    lines = told(folder, capsys)
    assert list(lines) == ["run", "a/done", "b", "broken", "broken:"]
    for part in ("finished", "1,250 of", "bleu 97.25 at step 1,000", "step 1,000"):
        assert part in lines["a/done"]
    for part in ("stopped: the same command goes on", "no model yet"):
        assert part in lines["b"]
    assert "unreadable" in lines["broken"]
    assert "train" in lines["broken:"]  # the suggestion for [trian]


def test_a_damaged_save_is_told(folder, capsys):
    (folder / "b/saves/00001000/weights.safetensors").write_bytes(b"y" * 1000)
    assert "step 500; 1 newer damaged" in told(folder, capsys)["b"]


def test_a_run_that_is_going_on_is_told_with_its_process(folder, capsys):
    hold = "import sys; from pathlib import Path; from regard.train.folder import one_process\n"
    hold += "with one_process(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(folder / "b")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        assert f"running (process {process.pid})" in told(folder, capsys)["b"]
        process.stdin.close()
    assert "stopped" in told(folder, capsys)["b"]
    with one_process(folder / "b"):  # looking took nothing
        pass


def test_nothing_there_is_one_sentence(tmp_path, capsys):
    assert main(["runs", str(tmp_path / "none")]) == 2
    assert main(["runs", str(tmp_path)]) == 2
    errors = capsys.readouterr().err
    assert "there is no folder" in errors
    assert "there is no run below" in errors


def test_torch_is_not_imported(folder):
    code = "import sys; from regard.cli import main; main(['runs', sys.argv[1]]); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "False"
