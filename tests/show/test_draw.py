"""Figures: what a colour means, what a label needs, and that a file is always the same."""

import sys

import pytest
import torch

from regard.attend import Attention, Dot, causal, window
from regard.show import draw

WORDS = ["the", "sea", "feeds"]


def a_look(scope=causal):
    torch.manual_seed(0)
    x = torch.randn(2, 3, 4)
    mechanism = Attention(Dot(), scope=scope)
    return mechanism.look(x, mechanism.memory(x))


def test_white_is_nothing_and_ink_is_everything():
    hidden = torch.tensor([[False, False, True]])
    colours = draw.colours(torch.tensor([[[0.0, 1.0, 0.0]]]), hidden, 1.0, [draw.BLUE])
    torch.testing.assert_close(colours[0], torch.tensor([(1.0, 1.0, 1.0), draw.BLUE, draw.HIDDEN]))


def test_heads_laid_over_each_other_multiply_like_transparent_inks():
    table = torch.tensor([[[1.0, 0.0]], [[1.0, 1.0]]])
    colours = draw.colours(table, torch.zeros(1, 2, dtype=torch.bool), 1.0, [draw.BLUE, draw.ORANGE])
    both = torch.tensor(draw.BLUE) * torch.tensor(draw.ORANGE)
    torch.testing.assert_close(colours[0], torch.stack((both, torch.tensor(draw.ORANGE))))


def test_larger_weights_are_darker():
    shades = draw.colours(
        torch.linspace(0, 1, 11).view(1, 1, -1), torch.zeros(1, 11, dtype=torch.bool), 1.0, [draw.BLUE]
    )
    assert (shades.sum(-1).diff() < 0).all()


@pytest.mark.parametrize("heads", [1, 3])
def test_heads_stand_side_by_side(heads):
    figure = draw.weights(torch.rand(heads, 3, 3), WORDS, WORDS, full=1.0)
    named = [axes.get_xlabel() for axes in figure.axes if axes.get_xlabel()]
    assert named == [f"head {head + 1}" for head in range(heads)] * (heads > 1)
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == WORDS


@pytest.mark.parametrize("scope", [causal, torch.ones(3, 3).tril().bool(), torch.ones(1, 1, 3, 3).tril().bool()])
def test_what_is_out_of_scope_is_drawn_so(scope):
    figure = draw.weights(a_look(), WORDS, WORDS, scope=scope, row=1)
    cells = torch.tensor(figure.axes[0].images[0].get_array().data)
    grey = (cells == torch.tensor(draw.HIDDEN)).all(-1)
    assert torch.equal(grey, ~torch.ones(3, 3).tril().bool())
    assert "out of scope" in [text.get_text() for text in figure.texts]


def test_a_scope_that_hides_nothing_needs_no_explanation():
    figure = draw.weights(a_look(window(5)), scope=window(5))
    assert "out of scope" not in [text.get_text() for text in figure.texts]


def test_bars_are_as_high_as_the_weights():
    look = a_look()
    axes = draw.bars(look, WORDS, row=1, query=2).axes[0]
    heights = torch.tensor([bar.get_height() for bar in axes.patches])
    torch.testing.assert_close(heights, look.weights[1, 0, 2], check_dtype=False)
    assert [bar.get_height() for bar in draw.bars(torch.tensor([0.5, 0.25])).axes[0].patches] == [0.5, 0.25]


def test_labels_that_do_not_fit_are_an_error():
    with pytest.raises(ValueError, match="2 key labels for 3 of them; give one for each, or none"):
        draw.weights(a_look(), WORDS, WORDS[:2])
    with pytest.raises(ValueError, match=r"weights to draw have shape \(q, k\).*got \(3,\)"):
        draw.weights(torch.rand(3))


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ValueError, match=r"drawing needs matplotlib: pip install 'regard\[show\]'"):
        draw.weights(a_look())


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    first = draw.save(draw.weights(a_look(), WORDS, WORDS, scope=causal), tmp_path / "made" / "first.png")
    second = draw.save(draw.weights(a_look(), WORDS, WORDS, scope=causal), tmp_path / "second.png")
    assert first.read_bytes() == second.read_bytes()
    assert b"matplotlib" not in first.read_bytes()


def test_other_formats_are_written_too(tmp_path):
    assert draw.save(draw.bars(torch.tensor([0.9, 0.1])), tmp_path / "bars.svg").read_text().startswith("<?xml")


def test_nothing_is_left_in_pyplot():
    draw.weights(a_look(), title="three words")
    assert "matplotlib.pyplot" not in sys.modules
