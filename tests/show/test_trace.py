"""Weights on their way to a page."""

from __future__ import annotations

import json
from base64 import b64decode

import numpy as np
import pytest
import torch

from regard.attend import Attention, ScaledDot, causal
from regard.show.trace import HIDDEN, SHADES, Trace, fitted, floats, of_look, packed


def read(found, at=0):
    """As the page reads it."""
    one = found["traces"][at]
    rows, columns = (len(found["labels"][one[side]]) for side in ("queries", "keys"))
    table = np.frombuffer(b64decode(one["weights"]), np.uint8).reshape(rows, columns)
    return np.where(table == HIDDEN, np.nan, table * one["scale"] / SHADES)


def test_weights_come_back_to_half_a_shade():
    weights = torch.rand(7, 5).softmax(-1)
    found = json.loads(json.dumps(packed([Trace("a", weights, list("abcdefg"), list("vwxyz"), 2, 3, kind="tape")])))
    assert np.abs(read(found) - weights.numpy()).max() <= float(weights.max()) / SHADES / 2 + 1e-7
    assert found["traces"][0] | {"layer": 2, "head": 3, "kind": "tape", "step": None} == found["traces"][0]


def test_out_of_scope_is_not_a_weight_of_zero():
    mechanism = Attention(ScaledDot(), scope=causal)
    x = torch.randn(1, 4, 8)
    look = mechanism.look(x, mechanism.memory(x))
    table = read(packed(of_look(look)))
    assert (np.isnan(table) == np.triu(np.ones((4, 4), bool), 1)).all()


def test_labels_that_are_the_same_travel_once():
    words, other = ["a", "b"], ["c", "d", "e"]
    some = [Trace("m", torch.rand(2, 2), words, words, head=h) for h in range(3)] + [
        Trace("n", torch.rand(2, 3), words, other)
    ]
    found = packed(some)
    assert found["labels"] == [words, other]
    assert [(one["queries"], one["keys"]) for one in found["traces"]] == [(0, 0), (0, 0), (0, 0), (0, 1)]


def test_a_kind_brings_what_it_needs():
    told = {"grid": [2, 2]}
    (one,) = packed([Trace("p", torch.rand(1, 4), ["dog"], list("1234"), kind="image", about=told)])["traces"]
    assert one["about"] == told


def test_a_label_each():
    with pytest.raises(ValueError, match="give a label for each row"):
        Trace("m", torch.rand(2, 3), ["a", "b"], ["c"])


def test_learned_tokens_and_mixtures_are_named():
    assert fitted(["a", "b"], 4) == ("m1", "m2", "a", "b")
    assert fitted(["a", "b", "c"], 2) == ("1", "2")


def test_numbers_travel_exactly():
    table = torch.randn(3, 4)
    found = floats(table)
    assert (np.frombuffer(b64decode(found["f32"]), "<f4").reshape(found["shape"]) == table.numpy()).all()
