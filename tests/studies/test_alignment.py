"""The generated language has the links it says, and the study of alignments runs at toy size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.models.settings import RecurrentModel, TransformerModel
from regard.studies import alignment, bilingual
from tests.translate.toys import RUN


def test_the_famous_phrase_is_turned_round() -> None:
    one = bilingual.famous()
    assert one.texts == (
        "the treaty on the european economic area was signed in august 1992 .",
        "le traité sur la zone économique européenne a été signé en août 1992 .",
    )
    block = {(source, target) for source, target in one.sure if 4 <= source <= 6}
    assert block == {(6, 4), (5, 5), (4, 6)}
    assert one.sure < one.possible


def test_every_word_is_linked_and_every_sure_link_is_right() -> None:
    dictionary = {noun: {french} for noun, (french, _) in bilingual.NOUNS.items()}
    dictionary |= {word: set(both) for word, both in bilingual.ADJECTIVES.items()}
    dictionary |= {word: {french} for word, french in bilingual.PREPOSITIONS.items()}
    dictionary |= {"yesterday": {"hier"}, "was": {"a"}, "not": {"ne", "pas"}, ".": {"."}}
    moved = 0
    for one in bilingual.sentences(300, 1):
        assert {target for _, target in one.possible} == set(range(len(one.target)))
        assert {source for source, _ in one.possible} == set(range(len(one.source)))
        for source, target in one.sure:
            assert one.target[target] in dictionary.get(one.source[source], {one.target[target]})
        moved += one.source[0] == "yesterday" and one.target[-2] == "hier"
    assert moved > 20


def test_the_same_seed_says_the_same() -> None:
    once, again = (list(bilingual.sentences(20, 3)) for _ in range(2))
    assert once == again != list(bilingual.sentences(20, 4))


def test_it_writes_numbers_table_and_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = {
        "recurrent": RecurrentModel(width=8, embedding=8, attention="bahdanau"),
        "transformer": TransformerModel(width=8, heads=2, feedforward=8, encoder_layers=1, decoder_layers=2),
    }
    for name, value in {
        "MODELS": small,
        "PAIRS": 60,
        "CHOSEN_ON": 4,
        "MEASURED_ON": 4,
        "REAL": ("one red dog",),
    }.items():
        monkeypatch.setattr(alignment, name, value)
    alignment.main(["--to", str(tmp_path), "--steps", "2", "--run", str(RUN)])
    found = json.loads((tmp_path / "alignment.json").read_text())
    assert [one["model"] for one in found["models"]] == ["recurrent", "transformer"]
    assert all(0 <= one["aer"] <= 1 for one in found["models"])
    assert "| recurrent | 1 |" in (tmp_path / "alignment.md").read_text()
    for name in ("alignment.png", "alignment-multi30k.png"):
        assert (tmp_path / name).stat().st_size > 1000
