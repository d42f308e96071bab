"""What notebooks draw: whole, and text stays text."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest
import torch

from regard.attend import Attention, ScaledDot, causal, watch
from regard.heatmap import MOST, heatmap
from regard.translate.translator import Translator
from tests.show.hostile import CORPUS
from tests.translate.toys import RUN

_SVG = "{http://www.w3.org/2000/svg}"


def test_a_cell_each_that_has_a_weight() -> None:
    drawn = ElementTree.fromstring(heatmap([[0.5, 0.5, None], [0.0, 0.0, 1.0]], ["a", "b"], ["x", "y", "z"], "t"))
    cells = [rect for rect in drawn.iter(f"{_SVG}rect") if rect.get("fill") not in ("none", None)]
    assert [cell.get("fill-opacity") for cell in cells] == ["0.500", "0.500", None, "1.000"]
    assert [title.text for title in drawn.iter(f"{_SVG}title")] == ["a → x: 0.500", "a → y: 0.500", "b → z: 1.000"]


def test_what_is_too_large_says_so() -> None:
    words = ["w"] * (MOST + 5)
    drawn = heatmap([[0.1] * len(words)] * len(words), words, words, "t")
    assert f"The first {MOST} of {len(words)} rows" in drawn


@pytest.mark.parametrize("text", CORPUS[:8])
def test_words_stay_words(text: str) -> None:
    drawn = heatmap([[1.0]], [text], [text], text)
    assert [node.text for node in ElementTree.fromstring(drawn).iter(f"{_SVG}text")] == [text, text]


def test_a_result_draws_itself_in_a_notebook() -> None:
    result = Translator.load(RUN)(["one red dog"], attention=True)[0]
    drawn = result._repr_html_()
    assert ElementTree.fromstring(drawn).find(".//b").text == result.text  # type: ignore[union-attr]
    assert drawn.count("<text") == 6
    hostile = replace(result, text="<script>alert(1)</script>", suspect=("<b>",))._repr_html_()
    assert "<script" not in hostile
    assert "&lt;script&gt;" in hostile
    without = Translator.load(RUN)(["one"])[0]._repr_html_()
    assert "<svg" not in without


def test_what_was_watched_draws_itself() -> None:
    mechanism = Attention(ScaledDot(), scope=causal)
    x = torch.randn(2, 3, 4)
    with watch(mechanism) as seen:
        for _ in range(14):
            mechanism(x, mechanism.memory(x))
    drawn = seen._repr_html_()
    assert drawn.count("<details") == 12
    assert "2 more looks" in drawn
    assert ElementTree.fromstring(drawn) is not None
    with watch(mechanism) as nothing:
        pass
    assert "Nothing was looked at" in nothing._repr_html_()
