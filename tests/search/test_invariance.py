"""The same answer every time: what a sentence gets does not depend on its company, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from regard.models.build import build_model
from regard.models.seq2seq import Seq2Seq
from regard.models.settings import RecurrentModel, TransformerModel
from regard.search import steady
from regard.search.rank import Hypothesis
from regard.search.settings import Search
from regard.tasks.decode import hypotheses

WORDS = 300
LENGTHS = (3, 21, 16, 9, 40, 17, 1, 12, 33, 15, 5)
SOURCES = [np.random.default_rng(length).integers(4, WORDS, length) for length in LENGTHS]

MODELS: dict[str, Any] = {
    "transformer-128": TransformerModel(encoder_layers=2, decoder_layers=2, dropout=0.0, tied="none"),
    "transformer-512": TransformerModel(
        encoder_layers=1, decoder_layers=1, width=512, heads=8, feedforward=2048, dropout=0.0, tied="none"
    ),
    "rotary-512": TransformerModel(  # whose encoder has no way of its own to be fast
        encoder_layers=1, decoder_layers=1, width=512, heads=8, feedforward=512, dropout=0.0, tied="none",
        encoder_attention="su",
    ),
    "gru-128": RecurrentModel(width=128, embedding=128, dropout=0.0),
    "lstm-512": RecurrentModel(
        cell="lstm", width=512, embedding=512, attention="luong_general", wiring="after", input_feeding=True,
        bidirectional=False, dropout=0.0,
    ),
}  # fmt: skip


def made(name: str) -> Seq2Seq:
    """A model that was taught nothing and is sure of itself all the same: no tie decides."""
    torch.manual_seed(7)
    model = build_model(MODELS[name], WORDS, WORDS).eval()
    with torch.no_grad():
        model.output.weight.copy_(torch.randn_like(model.output.weight) * (4 / model.output.in_features**0.5))
        for parameter in (p for sight in model.sights() for p in sight.parameters()):
            parameter.mul_(3)  # what is read matters
    return model


def told(found: list[list[Hypothesis]]) -> list[Any]:
    """All that is known of what was found, floats by their bits."""
    return [[(h.words, h.complete, h.score.hex(), h.log_prob.hex(), h.log_probs) for h in row] for row in found]


def settings(**more: Any) -> Search:
    return Search(**({"beam": 3, "nbest": 2, "longest_ratio": 0.2, "longest_extra": 6} | more))


@pytest.mark.parametrize(
    ("name", "threads"), [*((name, 1) for name in MODELS), ("transformer-512", 2), ("lstm-512", 2)]
)
def test_company_changes_nothing(name: str, threads: int) -> None:
    model = made(name)
    torch.set_num_threads(threads)
    try:
        whole = told(hypotheses(model, SOURCES, settings()))
        assert len({row[0][0][:2] for row in whole}) > 1  # what is said depends on what is read
        assert [told(hypotheses(model, [ids], settings()))[0] for ids in SOURCES[:4]] == whole[:4]
        order = np.random.default_rng(1).permutation(len(SOURCES))
        again = told(hypotheses(model, [SOURCES[n] for n in order], settings(batch_tokens=7 * 16 * 3)))
        assert again == [whole[n] for n in order]
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(1)


@pytest.mark.parametrize("name", ["transformer-512", "rotary-512"])
def test_company_changes_nothing_for_long_sentences(name: str) -> None:
    """By themselves they are of the lengths at which attention has a faster reading; beside longer ones not."""
    model = made(name)
    long = [np.random.default_rng(length).integers(4, WORDS, length) for length in (100, 112, 130, 240, 98)]
    whole = told(hypotheses(model, long, settings(batch_tokens=10_000)))
    assert [told(hypotheses(model, [ids], settings()))[0] for ids in long] == whole


@pytest.mark.parametrize("more", [{"beam": 1, "nbest": 1}, {"sample": True, "nbest": 3}, {"diversity": 0.5}])
@pytest.mark.parametrize("name", ["transformer-128", "gru-128"])
def test_company_changes_nothing_whatever_the_search(name: str, more: dict[str, Any]) -> None:
    model = made(name)
    whole = told(hypotheses(model, SOURCES, settings(**more)))
    assert [told(hypotheses(model, [ids], settings(**more)))[0] for ids in SOURCES[:3]] == whole[:3]
    assert told(hypotheses(model, SOURCES[::-1], settings(batch_tokens=150, **more)))[::-1] == whole


def test_without_the_rows_it_would_be_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where products of few rows are summed otherwise, the test above does see it."""
    model = made("transformer-128")
    with torch.no_grad(), steady.steadily(model) as found:
        if found.rows == 1:
            pytest.skip("products of any number of rows are alike here")
    whole = told(hypotheses(model, SOURCES, settings()))
    monkeypatch.setattr(steady, "_rows", lambda products, threads: 1)
    assert [told(hypotheses(model, [ids], settings()))[0] for ids in SOURCES] != whole


def test_sources_come_in_whole_blocks() -> None:
    assert [steady.whole_blocks(length, None) for length in (1, 15, 16, 17)] == [16, 16, 16, 32]
    assert [steady.whole_blocks(length, 20) for length in (1, 17, 20)] == [16, 20, 20]


def test_long_sources_keep_to_their_own_length() -> None:
    """A sum over many keys may be split by their number, padding included."""
    assert steady.together(192, 100)
    assert steady.together(240, 240)
    assert steady.together(240, 225)
    assert steady.together(240, 120)
    assert not steady.together(240, 121)
    assert not steady.together(240, 224)
    assert not steady.together(600, 250)  # by itself it is read in two halves


@pytest.mark.parametrize("length", [97, 120, 150, 192, 200])
def test_padding_changes_nothing_where_sources_may_be_together(length: int) -> None:
    asked = torch.randn(3, 1, 4, length, 32, generator=torch.Generator().manual_seed(length))

    def read(keys: int) -> torch.Tensor:
        query, key, value = torch.nn.functional.pad(asked, (0, 0, 0, keys - length))
        hidden = torch.zeros(1, 1, 1, keys).index_fill_(3, torch.arange(length, keys), -torch.inf)
        return torch.nn.functional.scaled_dot_product_attention(query, key, value, hidden)[:, :, :length]

    alone = read(steady.whole_blocks(length, None))
    for keys in range(steady.whole_blocks(length, None), 700, steady.BLOCK):
        if steady.together(keys, length):
            assert torch.equal(read(keys), alone), keys
