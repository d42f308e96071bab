"""The study of local windows runs at toy size, and measures windows as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from regard.models.settings import RecurrentModel
from regard.studies import local
from regard.tasks.toy import Language, ToyTranslation


def test_it_writes_numbers_table_and_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "TESTED", 4)
    monkeypatch.setattr(local, "LENGTH", 12)
    local.main(["--to", str(tmp_path), "--steps", "2"])
    found = json.loads((tmp_path / "local.json").read_text())
    models = {one["attention"]: one for one in found["models"]}
    assert list(models) == list(local.NAMES)
    assert models["luong_general"]["off"] is None
    assert models["luong_general"]["read"] == 1
    assert 0 < models["luong_local_p"]["read"] < 0.76  # at most 9 of 12
    assert "| local-p |" in (tmp_path / "local.md").read_text()
    assert (tmp_path / "local.png").stat().st_size > 1000


@pytest.mark.parametrize("attention", list(local.NAMES))
def test_no_weight_lies_outside_the_windows_it_tells_of(attention: str) -> None:
    language = Language(words=6, drift=3)
    sizes = RecurrentModel(
        cell="lstm", width=8, embedding=4, attention=attention, reach=2, wiring="after", dropout=0.0
    )
    model = ToyTranslation(language, sizes, 9, 12).build().eval()
    sentences = language.sentences(3, 9, 12, 1)
    seen = local.looks(model, sentences, [s.target.tolist() for s in sentences])
    assert (seen.middle is None) == (attention == "luong_general")
    if seen.middle is not None:
        away = torch.arange(seen.weights.shape[-1]) - seen.middle.unsqueeze(-1)
        assert seen.weights[away.abs() > 2].max() == 0
        assert seen.weights[away.abs() <= 1].max() > 0


def test_windows_at_the_right_words_are_off_by_nothing() -> None:
    sentences = Language(words=6, drift=3).sentences(2, 9, 9, 1)
    middle = torch.tensor([[*s.links, 0.0] for s in sentences])  # and the end of the sentence
    assert local.off(middle, sentences) == 0
    assert local.off(middle + 2, sentences) == 2


def test_the_middle_windows_of_local_m_fall_behind_where_fillers_push_on() -> None:
    sentences = Language(words=6, drift=2).sentences(2, 20, 20, 1)
    places = torch.arange(30.0).expand(2, 30)
    assert local.off(places, sentences) > 4


def test_the_share_read_is_cut_at_the_ends_of_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "LENGTH", 20)
    assert local.share(torch.tensor([[10.0]])) == pytest.approx(9 / 20)
    assert local.share(torch.tensor([[0.0]])) == pytest.approx(5 / 20)


def test_sentences_grow_from_a_fifth_of_the_steps_to_seven_tenths() -> None:
    sizes = RecurrentModel(cell="lstm", width=4, embedding=4, dropout=0.0)
    task = ToyTranslation(local.LANGUAGE, sizes, 3, local.LENGTH)
    model, before = task.build(), local.curriculum(task, 100)
    grown = []
    for step in (0, 20, 45, 70, 99):
        before(step, model)
        grown.append(task.high)
    assert grown == [local.SHORTEST, local.SHORTEST, 35, local.LENGTH, local.LENGTH]
