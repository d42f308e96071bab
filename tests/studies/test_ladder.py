"""Finished runs side by side: scored again, beside goals, as a page, numbers and a figure."""

import json

import pytest

from regard.studies import ladder
from regard.studies.ladder import Rung, goals, page
from tests.translate.toys import RUN


def rung(kind, bleu, perplexity):
    return Rung(kind, kind, 1, 1000, 90, 100, 120.0, perplexity, bleu, 50.0, "nrefs:1", (bleu, None, 1.0, 2.0, 3.0))


def test_the_ladder_says_what_was_aimed_at_and_what_attention_added():
    rungs = [rung("seq2seq", 12.0, 21.0), rung("attention", 27.5, 14.0)]
    lines = goals(rungs, {"attention": 28.0, "transformer": 36.5})
    assert [line.endswith("): reached") for line in lines] == [False, True, True]
    assert "15.50" in lines[1]
    assert "1.50" in lines[2]


def test_published_scores_stand_beside_those_they_are_comparable_with():
    told = page("multi30k-de-en", [rung("seq2seq", 12.0, 21.0), rung("transformer", 40.0, 5.0)])
    assert "36.52" in told
    assert "28.11" not in told
    assert "published scores are of lower-case" in told
    assert "published scores" not in page("mine", [rung("seq2seq", 12.0, 21.0)])


@pytest.mark.timeout(120)
def test_a_real_run_is_translated_and_scored(tmp_path, monkeypatch):
    pairs = [(0, "one two", "one two"), (1, "three", "three")]
    monkeypatch.setattr(ladder, "_tests", lambda run: pairs)
    monkeypatch.setattr(ladder, "_seconds", lambda run: 60.0)
    ladder.main([str(RUN), "--to", str(tmp_path), "--name", "mine"])
    found = json.loads((tmp_path / "mine.json").read_text())
    assert 0 <= found["rungs"][0]["bleu"] <= 100
    assert found["rungs"][0]["parameters"] > 0
    assert "regard study ladder --name mine" in (tmp_path / "mine.md").read_text()
    assert (tmp_path / "mine.png").stat().st_size > 1000
