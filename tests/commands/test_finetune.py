"""`regard finetune`: the old pieces and weights, a share of the old text, and both scores at the end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest
import torch

from regard.cli import main
from regard.commands.train import model_of
from regard.tasks.parallel_text import ParallelText
from regard.train.folder import damage
from regard.translate.translator import Translator
from tests.train.toys import COMMON, command, data_args, sentences, weights, write_pairs

TRAINING = ["--data.hold-out", "4", *COMMON[4:]]


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("old")
    run = folder / "run"
    text = write_pairs(folder, sentences(60))
    assert main(command("transformer", run, text, "--train.steps", 4, "--train.save-every", 2)) == 0
    return run


@pytest.fixture(scope="module")
def new_text(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    pairs = [(source.upper(), target) for source, target in sentences(50, seed=5)]
    return write_pairs(tmp_path_factory.mktemp("new"), pairs)


def tuning(old: Path, run: Path, text: dict[str, Path], *more: object) -> list[str]:
    return ["finetune", str(old), "--run", str(run), *data_args(text), *TRAINING, *map(str, more)]


@pytest.fixture(scope="module")
def tuned(old: Path, new_text: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("tuned") / "run"
    args = tuning(old, run, new_text, "--train.steps", 2, "--train.save-every", 2, "--share", 0.25)
    assert main(args) == 0
    return run


def test_it_begins_with_the_old_weights(old: Path, tuned: Path) -> None:
    first = weights(tuned / "saves" / "00000000" / "weights.safetensors")
    model = weights(next(old.glob("model-*")))
    assert all(torch.equal(value, first[name]) for name, value in model.items())
    last = weights(tuned / "saves" / "00000002" / "weights.safetensors")
    assert any(not torch.equal(value, first[name]) for name, value in last.items())


def test_it_keeps_the_old_pieces(old: Path, tuned: Path) -> None:
    file = "pieces/source.model"
    assert (tuned / file).read_bytes() == (old / file).read_bytes()


def test_it_mixes_in_a_share_of_the_old_text(tuned: Path) -> None:
    corpus = ParallelText.open(tuned).train
    lines = [corpus.line(i) for i in range(len(corpus))]
    assert sum(line > 0 for line in lines) == 46
    assert sum(line < 0 for line in lines) == 15  # a quarter of 61


def test_it_reports_both_models_on_both_texts(
    old: Path, tuned: Path, new_text: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    args = tuning(old, tuned, new_text, "--train.steps", 2, "--train.save-every", 2, "--share", 0.25)
    assert main(args) == 0  # again: nothing is left to do but this
    said = capsys.readouterr().err
    assert "resumed at step 2" in said
    assert all(word in said for word in ("old model", "new model", "old text", "new text", "BLEU"))
    scores = json.loads((tuned / "finetune.json").read_text(encoding="utf-8"))
    assert set(scores) == {"old model", "new model"}
    for name, folder in (("old model", old), ("new model", tuned)):
        for which, text in (("old text", old), ("new text", tuned)):
            pairs = ParallelText.open(text).valid
            found = [result.text for result in Translator.load(folder)([source for _, source, _ in pairs])]
            right = sum(said == target for said, (_, _, target) in zip(found, pairs, strict=True)) / len(pairs)
            assert scores[name][which]["exact"] == pytest.approx(right)


def test_the_result_is_a_run_like_any_other(tuned: Path) -> None:
    assert damage(tuned) is None
    assert len(Translator.load(tuned)(["ONE", "two"])) == 2
    assert "46 pairs" not in (tuned / "README.md").read_text(encoding="utf-8")  # old ones are pairs too
    assert "61 pairs" in (tuned / "README.md").read_text(encoding="utf-8")


def test_without_the_old_text_the_new_alone_is_scored(
    old: Path, new_text: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model that somebody gave away, without what it was trained on."""
    shutil.copytree(old, tmp_path / "old", ignore=shutil.ignore_patterns("data", "saves"))
    assert main(tuning(tmp_path / "old", tmp_path / "run", new_text, "--train.steps", 1)) == 0
    assert "0 pairs of the old text are mixed in" in capsys.readouterr().err
    scores = json.loads((tmp_path / "run" / "finetune.json").read_text(encoding="utf-8"))
    assert set(scores["old model"]) == set(scores["new model"]) == {"new text"}


def test_a_signal_while_both_are_scored(
    old: Path, tuned: Path, new_text: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """T5: here too, exit code 75, and the same command comes to the end."""
    args = tuning(old, tuned, new_text, "--train.steps", 2, "--train.save-every", 2, "--share", 0.25)
    finding = Signalled(at=2)  # the first is to see that the old run is one
    with monkeypatch.context() as patch:
        patch.setattr("regard.commands.finetune.model_of", finding)
        assert main(args) == 75
    assert finding.calls == 2
    (tuned / "finetune.json").unlink()
    assert main(args) == 0
    assert (tuned / "finetune.json").exists()


class Signalled:
    """In place of what finds a model: at its second call a signal comes."""

    def __init__(self, at: int) -> None:
        self.at, self.calls = at, 0

    def __call__(self, run: Path) -> Path:
        self.calls += 1
        if self.calls == self.at:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
        return model_of(run)


@pytest.mark.parametrize(
    ("run", "more", "said"),
    [
        ("old", [], "is the old run itself; give another folder with --run"),
        ("new", ["--share", "1"], "--share is the old text's part of everything, 0 up to 1; got 1"),
        ("new", ["--share", "-0.1"], "--share is the old text's part of everything, 0 up to 1; got -0.1"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(
    old: Path, new_text: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], run: str,
    more: list[str], said: str,
) -> None:  # fmt: skip
    assert main(tuning(old, old if run == "old" else tmp_path / "new", new_text, *more)) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1


def test_a_damaged_old_model_is_refused_before_anything_is_made(
    old: Path, new_text: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(old, tmp_path / "old")
    model = next((tmp_path / "old").glob("model-*"))
    model.write_bytes(model.read_bytes()[:-4])
    assert main(tuning(tmp_path / "old", tmp_path / "run", new_text)) == 2
    assert f"{model} is not what was written" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
