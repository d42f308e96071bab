"""Hypotheses that share what they look at: the same scores as alone, and nothing copied when a beam is reordered."""

from __future__ import annotations

import pytest
import torch

from regard.models.build import build_model
from regard.models.cache import Decoding, Said, Together, can_share
from regard.models.mechanisms import mechanism
from regard.models.settings import TransformerModel
from regard.models.transformer import Transformer

WORDS = 20
SOURCE = torch.tensor([[4, 5, 6, 7, 8], [9, 8, 7, 0, 0], [5, 5, 9, 11, 0]])
LENGTHS = torch.tensor([5, 3, 4])


def built(**more: object) -> Transformer:
    torch.manual_seed(2)
    settings = TransformerModel(
        encoder_layers=1, decoder_layers=2, width=16, heads=2, feedforward=16, dropout=0.0, **more  # type: ignore[arg-type]
    )  # fmt: skip
    model = build_model(settings, WORDS, WORDS).eval()
    assert isinstance(model, Transformer)
    return model


PICKS = (
    [0, 1, 2],
    [0, 0, 0, 1, 1, 1, 2, 2, 2],  # a beam begins
    [1, 0, 0, 5, 5, 3, 8, 7, 6],  # it is reordered
    [0, 2, 1, 6, 6, 7],  # a sentence leaves
    [3, 4, 5, 0, 1, 2],  # sentences change places
    [5, 0, 1],  # rows of any source
    [2, 2, 0, 1],
)


@pytest.mark.parametrize("picks", [PICKS, PICKS[:2] + PICKS[5:], ([2, 0], [1], [0, 0, 0, 0], [3, 1])])
@pytest.mark.parametrize("more", [{}, {"decoder_attention": "ainslie"}, {"decoder_attention": "bahdanau"}])
@torch.no_grad()
def test_hypotheses_together_are_as_if_alone(more: dict[str, str], picks: tuple[list[int], ...]) -> None:
    model = built(**more)
    state, owners = model.start(SOURCE, LENGTHS), torch.arange(3)
    said = torch.full((3, 1), 2)
    for step, pick in enumerate(picks):
        rows = torch.tensor(pick)
        scores, state = model.step(state, said[:, -1])
        assert isinstance(state, Together)
        assert torch.allclose(scores, model(SOURCE[owners], LENGTHS[owners], said)[:, -1], atol=1e-5)
        state, owners, said = state.pick(rows), owners[rows], said[rows]
        said = torch.cat((said, 4 + (torch.arange(len(rows)) * 7 + step)[:, None] % 15), 1)
    scores, _ = model.step(state, said[:, -1])
    assert torch.allclose(scores, model(SOURCE[owners], LENGTHS[owners], said)[:, -1], atol=1e-5)


@torch.no_grad()
def test_reordering_copies_no_keys() -> None:
    model = built()
    state = model.step(model.start(SOURCE, LENGTHS), torch.full((3,), 2))[1]
    state = state.pick(torch.arange(3).repeat_interleave(2))
    assert isinstance(state, Together)
    before = [layer.said.keys.data_ptr() for layer in state.layers if layer.said is not None]
    for _ in range(10):
        _, state = model.step(state.pick(torch.tensor([1, 0, 2, 2, 5, 4])), torch.full((6,), 5))
        assert isinstance(state, Together)
    after = [layer.said.keys.data_ptr() for layer in state.layers if layer.said is not None]
    assert after == before
    assert len(before) == 2
    assert state.layers[0].source is model_source(state)


def model_source(state: Together) -> object:
    """The same memory as after another reordering."""
    return state.pick(torch.tensor([0, 0, 3, 2, 4, 5])).layers[0].source


@torch.no_grad()
def test_two_ways_on_from_one_state_do_not_meet() -> None:
    """Who comes second finds the room taken."""
    model = built()
    state = model.step(model.start(SOURCE, LENGTHS), torch.full((3,), 2))[1]
    one = model.step(state, torch.full((3,), 5))[1]
    other = model.step(state, torch.full((3,), 6))[1]
    words = torch.full((3,), 7)
    for after, middle in ((one, 5), (other, 6)):
        expected = model(SOURCE, LENGTHS, torch.tensor([[2, middle, 7]]).expand(3, -1))[:, -1]
        assert torch.allclose(model.step(after, words)[0], expected, atol=1e-5)


@torch.no_grad()
def test_room_grows() -> None:
    model = built()
    state, said = model.start(SOURCE, LENGTHS), torch.full((3, 1), 2)
    for step in range(70):
        scores, state = model.step(state, said[:, -1])
        said = torch.cat((said, torch.full((3, 1), 4 + step % 9)), 1)
    assert torch.allclose(scores, model(SOURCE, LENGTHS, said[:, :-1])[:, -1], atol=1e-4)
    assert isinstance(state, Together)
    assert isinstance(state.layers[0].said, Said)


def test_while_learning_nothing_is_shared() -> None:
    """A gradient may be asked for, and what it needs must not be written over."""
    model = built()
    _, state = model.step(model.start(SOURCE, LENGTHS), torch.full((3,), 2))
    assert isinstance(state, Decoding)


@pytest.mark.parametrize(
    ("name", "shares"), [("vaswani", True), ("shazeer", True), ("su", False), ("shaw", False), ("press", False)]
)
def test_who_asks_where_a_query_stands_shares_nothing(name: str, shares: bool) -> None:
    sizes = {"d_model": 16, "heads": 2, "d_query": 16, "d_key": 16, "d_hidden": 16, "longest": 32, "groups": 1}
    assert can_share(mechanism(name, **sizes)) == shares
