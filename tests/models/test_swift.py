"""A Transformer prepared for search says what the Transformer says, and notices when that has changed."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from regard.attend.watch import watch
from regard.models.build import build_model
from regard.models.prepared import swift
from regard.models.products import SLICE, WIDE
from regard.models.settings import MarianModel, TransformerModel
from regard.models.swift import Going, Swift
from regard.models.transformer import Transformer
from regard.search.beam import search
from regard.search.settings import Search
from tests.models.test_cache import LENGTHS, PICKS, SOURCE, WORDS

SMALL: dict[str, Any] = {"encoder_layers": 2, "decoder_layers": 2, "width": 16, "heads": 2, "dropout": 0.0}
MARIAN = MarianModel(
    encoder_layers=2, decoder_layers=2, width=16, encoder_heads=2, decoder_heads=4, encoder_feedforward=24,
    decoder_feedforward=20,
)  # fmt: skip


def built(settings: Any = None, **more: Any) -> Transformer:
    torch.manual_seed(2)
    settings = settings or TransformerModel(**SMALL | {"feedforward": 16} | more)
    model = build_model(settings, WORDS, WORDS).eval()
    assert isinstance(model, Transformer)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith("bias"):
                weight.normal_(std=0.3)
    return model


@torch.no_grad()
def prepared(model: Transformer) -> Swift:
    found = swift(model)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"norm": "post", "activation": "gelu"},
        {"positions": "learned", "longest": 20, "tied": "none"},
        {"positions": "none", "feedforward": SLICE + 100},
        {"settings": MARIAN},
        {"width": WIDE, "norm": "post"},
    ],
)
@torch.no_grad()
def test_it_says_what_the_plain_model_says(more: dict[str, Any]) -> None:
    model = built(**more)
    quick = prepared(model)
    source = F.pad(SOURCE, (0, 11))
    state: Any = quick.start(source, LENGTHS)
    owners, said = torch.arange(3), torch.full((3, 1), 2)
    for step, pick in enumerate((*PICKS, [0, 1, 2, 3])):
        scores, state = quick.step(state, said[:, -1])
        assert torch.allclose(scores, model(SOURCE[owners], LENGTHS[owners], said)[:, -1], atol=2e-5)
        rows = torch.tensor(pick)
        state, owners, said = state.pick(rows), owners[rows], said[rows]
        said = torch.cat((said, 4 + (torch.arange(len(rows)) * 7 + step)[:, None] % 15), 1)


@torch.no_grad()
def test_few_words_stand_in_their_own_places() -> None:
    """Ten words, with those that fill a product up as many as there are places."""
    model = built()
    quick, source = prepared(model), torch.randint(4, WORDS, (2, 8))
    source[:, 5:] = 0
    lengths, first = torch.tensor([5, 5]), torch.tensor([2, 2])
    scores = quick.step(quick.start(source, lengths), first)[0]
    assert torch.allclose(scores, model(source, lengths, first[:, None])[:, -1], atol=1e-5)


@torch.no_grad()
def test_a_search_by_either_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    model = built()
    model.output.weight.copy_(torch.randn_like(model.output.weight))
    settings = Search(beam=4, nbest=3, longest_extra=9)
    assert isinstance(model.stepper(), Swift)
    quick = search(model, SOURCE, LENGTHS, settings)
    monkeypatch.setattr(Transformer, "stepper", lambda self: self)
    for ours, theirs in zip(quick, search(model, SOURCE, LENGTHS, settings), strict=True):
        assert [h.words for h in ours] == [h.words for h in theirs]
        assert all(math.isclose(a.score, b.score, abs_tol=1e-4) for a, b in zip(ours, theirs, strict=True))


@torch.no_grad()
def test_changed_weights_are_seen() -> None:
    model = built()
    before = prepared(model)
    assert prepared(model) is before
    model.decoder[0].feedforward.up.weight.mul_(1.5)  # type: ignore[union-attr,operator]
    after = prepared(model)
    assert after is not before
    scores = after.step(after.start(SOURCE, LENGTHS), torch.full((3,), 2))[0]
    assert torch.allclose(scores, model(SOURCE, LENGTHS, torch.full((3, 1), 2))[:, -1], atol=1e-5)
    model.load_state_dict(built(norm="pre").state_dict())
    assert prepared(model) is not after


def test_weights_that_a_fused_rule_changed_are_seen() -> None:
    """Such a rule does not count versions; training is noticed all the same."""
    model = built()
    with torch.no_grad():
        before = prepared(model)
    rule = torch.optim.Adam(model.parameters(), 0.1, fused=True)
    for training in (True, False):
        model.train(training)
        model(SOURCE, LENGTHS, torch.full((3, 1), 2)).square().sum().backward()
        rule.step()
        model.eval()
        with torch.no_grad():
            after = prepared(model)
            assert after is not before
            scores = after.step(after.start(SOURCE, LENGTHS), torch.full((3,), 2))[0]
            assert torch.allclose(scores, model(SOURCE, LENGTHS, torch.full((3, 1), 2))[:, -1], atol=1e-4)
        before = after


@torch.no_grad()
def test_what_is_not_known_is_left_to_the_model() -> None:
    for more in ({"decoder_attention": "su"}, {"cross_attention": "bahdanau"}, {"activation": "swiglu"}):
        assert swift(built(**more)) is None
    model = built()
    assert swift(model.train()) is None
    assert swift(model.eval()) is not None
    with torch.enable_grad():
        assert swift(model) is None
    with watch(model):
        assert swift(model) is None
    handle = model.decoder[0].register_forward_hook(lambda *_: None)
    assert swift(model) is None
    handle.remove()
    assert swift(model) is not None


@torch.no_grad()
def test_reordering_copies_no_keys_and_two_ways_do_not_meet() -> None:
    model = built()
    quick = prepared(model)
    state: Any = quick.step(quick.start(SOURCE, LENGTHS), torch.full((3,), 2))[1]
    one = quick.step(state, torch.full((3,), 5))[1]
    other = quick.step(state, torch.full((3,), 6))[1]  # finds the room taken
    for after, middle in ((one, 5), (other, 6)):
        expected = model(SOURCE, LENGTHS, torch.tensor([[2, middle, 7]]).expand(3, -1))[:, -1]
        assert torch.allclose(quick.step(after, torch.full((3,), 7))[0], expected, atol=1e-5)
    state = other.pick(torch.arange(3).repeat_interleave(2))
    _, state = quick.step(state, torch.full((6,), 5))
    room = state.room.table.data_ptr()
    for _ in range(10):
        picked = state.pick(torch.tensor([1, 0, 2, 2, 5, 4]))
        assert isinstance(picked, Going)
        state = quick.step(picked, torch.full((6,), 5))[1]
    assert state.room.table.data_ptr() == room
    assert state.source is other.source
