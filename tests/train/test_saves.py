"""Saves are complete or not there; what is damaged is named and passed over."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from regard.train.drive import Run
from regard.train.folder import MANIFEST
from regard.train.saves import Saves, load_weights, weights_of, write_model
from regard.train.signals import Stop
from tests.train.toys import Duel, Heard, Line, outcome, session, weights


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of saves; that they wait for the disk is seen elsewhere."""
    monkeypatch.setattr("os.fsync", lambda _: None)


def trained(folder: Path, steps: int, **settings: int) -> Run:
    run = session(Line(), folder, steps=steps, **settings)
    run.resume()
    assert run.train(Stop())
    return run


def kept(folder: Path) -> dict[int, list[str]]:
    return {int(path.name): sorted(f.name for f in path.iterdir()) for path in sorted((folder / "saves").iterdir())}


WHOLE = [MANIFEST, "optimiser.safetensors", "state.json", "weights.safetensors"]
THIN = [MANIFEST, "state.json", "weights.safetensors"]


def test_what_is_kept(tmp_path: Path) -> None:
    """`keep` whole ones, the weights of those still to be averaged, and nothing else."""
    trained(tmp_path / "run", 40, average=4, keep=2)
    found = kept(tmp_path / "run")
    assert list(found) == [25, 30, 35, 40]
    assert found[40] == found[35] == WHOLE
    assert found[30] == found[25] == THIN
    trained(tmp_path / "other", 40, average=1, keep=1)
    assert kept(tmp_path / "other") == {40: WHOLE}
    trained(tmp_path / "more", 40, average=1, keep=3)
    assert kept(tmp_path / "more") == dict.fromkeys((30, 35, 40), WHOLE)


def test_a_stop_between_saves_takes_nothing_from_the_mean(tmp_path: Path) -> None:
    run = session(Line(), tmp_path / "run", steps=17, average=4, keep=2)
    assert run.train(Stop())
    more = trained(tmp_path / "run", 20, average=4, keep=2)
    at = [5, 10, 15, 20]  # not 17
    found = [weights(more.folder / "saves" / f"{step:08d}" / "weights.safetensors") for step in at[:0] or at]
    mean = more.saves.mean(more.model, 20)
    for name, value in mean.items():
        assert torch.allclose(value, torch.stack([one[name] for one in found]).mean(0), atol=1e-7, rtol=0)


def damaged(path: Path, how: str) -> Path:
    """Do something to a save; which file it was."""
    file = path / ("weights.safetensors" if how != "optimiser" else "optimiser.safetensors")
    content = bytearray(file.read_bytes())
    if how in ("flip", "optimiser"):
        content[-1] ^= 1  # safetensors alone would load it
        file.write_bytes(content)
    elif how == "cut":
        file.write_bytes(content[:-7])
    elif how == "gone":
        file.unlink()
    elif how == "no manifest":
        file = path / MANIFEST
        file.unlink()
    elif how == "odd manifest":
        file = path / MANIFEST
        file.write_text('["files"]', encoding="utf-8")
    return file


@pytest.mark.parametrize("how", ["flip", "optimiser", "cut", "gone", "no manifest", "odd manifest"])
def test_a_damaged_save_is_named_and_passed_over(tmp_path: Path, how: str) -> None:
    whole = outcome(trained(tmp_path / "whole", 20).folder)
    run = trained(tmp_path / "run", 15)
    file = damaged(run.folder / "saves" / "00000015", how)
    again = session(Line(), run.folder)
    assert again.resume()
    assert again.progress.step == 10
    said = [line for line in again.screen.lines if "passing it over" in line]  # type: ignore[attr-defined]
    assert len(said) == 1
    assert str(file) in said[0]
    assert again.train(Stop())
    assert outcome(run.folder) == whole


def test_no_whole_save_is_a_new_beginning_and_said(tmp_path: Path) -> None:
    whole = outcome(trained(tmp_path / "whole", 20).folder)
    run = trained(tmp_path / "run", 15)
    for path in (run.folder / "saves").iterdir():
        damaged(path, "flip")
    again = session(Line(), run.folder)
    assert not again.resume()
    assert isinstance(again.screen, Heard)
    assert again.screen.lines[-1] == "no save is whole: starting from the beginning"
    assert again.train(Stop())
    assert outcome(run.folder) == whole


def test_what_a_cut_short_save_left_is_cleared_away(tmp_path: Path) -> None:
    run = trained(tmp_path / "run", 10)
    left = run.folder / "saves" / ".00000015.new"
    left.mkdir()
    (left / "weights.safetensors").write_bytes(b"half")
    again = session(Line(), run.folder)
    assert again.resume()
    assert not left.exists()
    assert again.progress.step == 10


def test_optimisers_of_all_players_are_kept(tmp_path: Path) -> None:
    run = session(Duel(), tmp_path / "run", steps=6)
    assert run.train(Stop())
    again = session(Duel(), tmp_path / "run", steps=6)
    for player, rule in again.optimisers.items():
        assert not rule.state_dict()["state"], player
    assert again.resume()
    for player, rule in again.optimisers.items():
        mine, theirs = rule.state_dict()["state"], run.optimisers[player].state_dict()["state"]
        assert mine.keys() == theirs.keys() != set()
        for number, remembered in mine.items():
            assert all(torch.equal(value, theirs[number][name]) for name, value in remembered.items())


class Tied(nn.Module):
    """One table under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(5, 3)
        self.output = nn.Linear(3, 5, bias=False)
        self.output.weight = self.words.weight


def test_shared_weights_are_kept_once_and_stay_shared(tmp_path: Path) -> None:
    torch.manual_seed(1)
    model, other = Tied(), Tied()
    assert list(weights_of(model)) == ["words.weight"]
    write_model(tmp_path, weights_of(model), 3, [])
    load_weights(other, tmp_path / "model-00000003.safetensors")
    assert torch.equal(other.output.weight, model.words.weight)
    assert other.output.weight is other.words.weight


def test_weights_of_another_model_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"another model: 0\.bias, 0\.weight, 1\.bias"):
        load_weights(nn.Sequential(nn.Linear(2, 2)), weights_of(nn.Sequential(nn.ReLU(), nn.Linear(2, 2))))
    with pytest.raises(ValueError, match=r"weight 0\.weight has shape \(2, 3\), the recipe's model has \(2, 2\)"):
        load_weights(nn.Sequential(nn.Linear(2, 2)), weights_of(nn.Sequential(nn.Linear(3, 2))))


def test_the_mean_passes_over_what_is_damaged(tmp_path: Path) -> None:
    run = trained(tmp_path / "run", 15, average=3)
    damaged(run.folder / "saves" / "00000010", "flip")
    mean = run.saves.mean(run.model, 15)
    two = [weights(run.folder / "saves" / f"{step:08d}" / "weights.safetensors") for step in (5, 15)]
    for name, value in mean.items():
        assert torch.allclose(value, (two[0][name] + two[1][name]) / 2, atol=1e-7, rtol=0)


def test_saves_of_other_steps_are_no_part_of_the_mean(tmp_path: Path) -> None:
    saves = Saves(tmp_path, every=10, average=5, keep=2)
    model = nn.Linear(1, 1)
    assert saves.mean(model, 10).keys() == weights_of(model).keys()
    assert all(torch.equal(value, weights_of(model)[name]) for name, value in saves.mean(model, 25).items())
