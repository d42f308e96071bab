"""The picture of a summary: words by p_gen, a text by coverage, in the one trace format."""

from __future__ import annotations

import pytest
import torch

from regard.models.copying import Told
from regard.show import copying
from regard.show.trace import packed

TEXT, SAID = ("a", "$b", "c"), ("$b", "x")
TOLD = Told(torch.zeros(1, 3, 5), torch.tensor([[0.0, 1.0, 0.5]]), torch.eye(3).unsqueeze(0))


def test_a_trace_has_a_row_for_each_word_and_its_end():
    seen = copying.trace(TOLD, TEXT, SAID)
    assert seen.queries == ("$b", "x", "■")
    assert seen.keys == TEXT
    assert seen.about["p_gen"] == [0.0, 1.0, 0.5]
    assert packed([seen])["traces"][0]["about"] == {"p_gen": [0.0, 1.0, 0.5]}
    with pytest.raises(ValueError, match="a label for each row"):
        copying.trace(TOLD, TEXT, ("only",))


def test_words_have_the_colour_of_their_p_gen_and_the_text_that_of_its_coverage(tmp_path):
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    copying.drawn(figure, copying.trace(TOLD, TEXT, SAID), SAID)
    read, said, _, bars, table = figure.axes
    assert [text.get_color() for text in said.texts[:2]] == [copying.ORANGE, copying.BLUE]
    assert [bar.get_height() for bar in bars.patches] == [1, 1, 1]
    assert len(read.patches) == 3
    assert table.images[0].get_array().shape == (3, 3)
    figure.savefig(tmp_path / "one.png")
    assert (tmp_path / "one.png").stat().st_size > 5000


def test_long_texts_go_on_in_the_next_line():
    words = ["word"] * 45
    places = copying._places(words)
    assert max(column + 4 for _, column in places) <= copying.LINE
    assert {line for line, _ in places} == {0, 1, 2}
