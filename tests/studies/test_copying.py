"""The study of copying: what is reached and what is not is told from the figures."""

from __future__ import annotations

import pytest

from regard.studies.copying import first_words, goals, page
from regard.text.articles import Article

GOOD = {
    "news": {"sentences=3": {"copied": 0.99, "rouge1": 99.0}, "sentences=6": {"copied": 0.96}},
    "news-plain": {"sentences=3": {"copied": 0.0}},
    "digest": {"a": {"repeated": 0.01}, "b": {"repeated": 0.0}, "c": {"repeated": 0.1}, "d": {"repeated": 0.0}},
    "digest-uncovered": {
        "a": {"repeated": 0.06}, "b": {"repeated": 0.2}, "c": {"repeated": 0.2}, "d": {"repeated": 0.0},
    },
}  # fmt: skip


def test_goals_are_told_for_the_runs_that_are_there():
    told = goals(GOOD)
    assert [line.rsplit(": ", 1)[1] for line in told] == [
        "reached", "reached", "reached", "none left", "**not reached**",
    ]  # fmt: skip
    assert "96.00" in told[0]
    assert "times: 6.00" in told[2]
    assert goals({"scitldr": {}}) == []
    assert "not reached" in goals({"news": {"a": {"copied": 0.94}}})[0]
    assert "not reached" in goals({"news-plain": {"a": {"copied": 0.01}}})[0]


def test_a_page_has_a_row_for_each_test_and_the_papers():
    told = page(GOOD)
    assert "| `news` | sentences=3 | 99 |" in told
    assert "| 39.53 | 17.28 | 36.38 |" in told
    assert "![digest](copying-digest.png)" in told


def test_the_first_words_are_as_many_as_a_summary_has():
    some = [Article(("a", "b", "c", "d"), (("a", "x"), ("b", "a"))), Article(("a", "b", "c"), (("c", "d"),))]
    found = first_words(some)
    assert found["rouge1"] == pytest.approx(50)
    assert found["rouge2"] == 0
