"""The page of an evaluation: one file, nothing fetched, all text escaped, everything told."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from regard.evaluate.compare import compare
from regard.evaluate.heads import Chosen
from regard.evaluate.links import LinkScore
from regard.evaluate.run import Evaluation, Links, Speed
from regard.evaluate.score import by_length, scores, sentences
from regard.evaluate.text import ScoredText
from regard.show.report import report
from regard.translate.heads import Heads

NASTY = "<script>alert(1)</script> & \"quotes\" 'single' </main>"
SOURCES = (NASTY, "two words", "three words here", "a b c d")
RIGHT = ("the right words", NASTY, "drei Wörter hier", "a b c d")


def evaluation(run: str, *said: str) -> Evaluation:
    text = ScoredText("test <1>", "some & where", SOURCES, (RIGHT,))
    found = sentences(said, text, "13a", [("copied",), (), (), ()])
    unit, buckets = by_length(found, "13a")
    speed = Speed(2.0, 4, 20, 0.05, 0.1, 1, 5, 4096)
    scored = scores(said, [RIGHT], resamples=20)
    return Evaluation(run, text, "13a", scored, tuple(found), unit, tuple(buckets), speed, {"copied": 1})


@pytest.fixture(scope="module")
def one() -> Evaluation:
    return evaluation("mine & <b>", NASTY, "the wrong words", "drei Wörter hier", "a b x d")


class Tags(HTMLParser):
    """Every tag is closed, and none can run or fetch anything."""

    EMPTY = frozenset(("meta", "br", "rect", "line"))

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "img", "link", "iframe", "object", "form")
        assert not any(name.startswith("on") or name in ("src", "href") for name, _ in attrs)
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.EMPTY

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(page: str) -> str:
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert "url(" not in page
    assert "://" not in page
    return " ".join(" ".join(tags.text).split())


def test_one_run(one: Evaluation) -> None:
    page = report([[one]], ["take <care>"])
    text = read(page)
    assert "<script>alert(1)</script> &" in text
    assert "mine & <b>: how good it is" in text
    assert "take <care>" in text
    assert f"{one.scores['bleu'].score:.2f}" in text
    assert f"TER ± {one.scores['ter'].half:.2f}, lower is better" in text
    assert page.count(' few" x=') == len(one.buckets)  # all have fewer than ten lines
    assert "25.0 % exactly as a reference" in text
    assert one.scores["ter"].signature in text
    assert "10 pieces" not in text
    assert re.search(r"10 2\.0 50 ms 100 ms 1 5", text)
    assert "To be doubted: 1 copied." in text
    assert "prefers-color-scheme: dark" in page


def test_words_that_differ_are_marked(one: Evaluation) -> None:
    page = report([[one]])
    assert 'a b <span class="extra">x</span> d' in page
    assert 'a b <span class="missed">c</span> d' in page


def test_several_texts_of_one_run(one: Evaluation) -> None:
    other = replace(one, text=replace(one.text, name="held_out"))
    text = read(report([[one, other]]))
    assert text.count("By length") == 2
    assert "held_out" in text


def test_several_runs(one: Evaluation) -> None:
    better = evaluation("better", *RIGHT)
    compared = compare({one.run: one.said, better.run: better.said}, [RIGHT], trials=20)
    text = read(report([[one], [better]], compared=compared))
    assert "2 translators compared" in text
    assert "Where better is better" in text
    assert "Where mine & <b> is better" not in text
    assert "p = " in text
    assert "bs:20" in text


def test_links_and_heads(one: Evaluation) -> None:
    linked = replace(one, links=Links(Heads(1, (0,)), LinkScore(0.125, 0.5, 0.75, 4, 9), 1))
    chosen = Chosen(Heads(1, (0,)), "gold", 0.125, ((0.9, 0.8), (0.2, 0.7)), 4, 0.25)
    page = report([[linked]], chosen=chosen)
    text = read(page)
    assert "0.125 0.500 0.750" in text
    assert "Chosen by gold on 4 lines: layer 1, head 0, together 0.125" in text
    assert "On lines it was not chosen on: 0.250" in text
    assert page.count("head picked") == 1
