"""LSTMN: one step written out in NumPy, the tape as the step before left it, and plain LSTMs as a special case."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from regard.attend.watch import watch
from regard.models.reading import LanguageModel, Lstmn, build_reader, intra_attention, nearest_first
from regard.models.recurrence.along import along
from regard.models.recurrence.cells import Lstm
from regard.models.sequence_settings import DilatedModel, LstmnModel, PlainLstmModel, ReaderModel

MODELS: list[ReaderModel] = [
    LstmnModel(width=8, hidden=6),
    LstmnModel(width=8, hidden=6, reach=4, layers=2),
    PlainLstmModel(width=8, layers=2),
    DilatedModel(width=8, dilations=(1, 2, 4)),
]


def reader(width: int = 4, reach: int = 0) -> Lstmn:
    torch.manual_seed(5)
    return Lstmn(intra_attention(LstmnModel(width=width, hidden=3, reach=reach)), Lstm(width, width))


def by_hand(model: Lstmn, x: np.ndarray) -> np.ndarray:
    """Cheng et al. 2016, eq. 5-10, one row, in NumPy."""
    w, score, cell = model.cell.width, model.attention.score, model.cell
    weights = {name: value.detach().numpy() for name, value in [*score.named_parameters(), *cell.named_parameters()]}
    w_query, c, w_key, v = (weights[n] for n in ("query.weight", "query.bias", "key.weight", "strength"))
    hs: list[np.ndarray] = []
    cs: list[np.ndarray] = []
    h_before = np.zeros(w)
    for t in range(len(x)):
        h_tilde, c_tilde = np.zeros(w), np.zeros(w)
        if t:
            a = np.array([v @ np.tanh(w_key @ h + w_query @ np.concatenate((x[t], h_before)) + c) for h in hs])
            s = np.exp(a) / np.exp(a).sum()
            h_tilde, c_tilde = s @ np.array(hs), s @ np.array(cs)
        z = weights["input.weight"] @ x[t] + weights["input.bias"]
        i, f, g, o = np.split(z + weights["hidden.weight"] @ h_tilde + weights["hidden.bias"], 4)
        sigmoid = lambda y: 1 / (1 + np.exp(-y))  # noqa: E731
        cs.append(sigmoid(f) * c_tilde + sigmoid(i) * np.tanh(g))
        hs.append(sigmoid(o) * np.tanh(cs[-1]))
        h_before = h_tilde
    return np.array(hs)


def test_every_step_is_the_papers():
    model, given = reader(), torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(1))
    found = model(given).detach().numpy()
    for row in range(2):
        np.testing.assert_allclose(found[row], by_hand(model, given[row].numpy()), atol=1e-5)


def test_it_looks_at_the_steps_before_and_never_at_its_own():
    with watch(model := reader()) as seen:
        model(torch.randn(2, 5, 4))
    assert [look.weights.shape for look in seen] == [(2, 1, 1, t) for t in range(1, 5)]
    for look in seen:
        torch.testing.assert_close(look.weights.sum(-1), torch.ones(2, 1, 1))


def test_where_only_the_last_state_can_be_seen_it_is_a_plain_lstm():
    """A reach whose far numbers are minus infinity leaves the state before alone."""
    model, given = reader(reach=3), torch.randn(3, 7, 4)
    assert model.attention.bias is not None
    with torch.no_grad():
        model.attention.bias.table[0, :2] = -torch.inf  # three and two back, and all beyond
    torch.testing.assert_close(model(given), along(model.cell, given)[0])


def test_at_first_the_nearest_state_counts_most():
    table = nearest_first(8).table.detach()[0, :8].softmax(0)
    assert float(table[-1]) > 0.8
    assert bool((table.diff() > 0).all())


@pytest.mark.parametrize("settings", MODELS, ids=lambda s: f"{s.kind}")
def test_the_future_cannot_change_the_past_and_rows_are_by_themselves(settings):
    torch.manual_seed(1)
    model, words = build_reader(settings, 11).eval(), torch.randint(4, 11, (3, 9))
    changed = words.clone()
    changed[:, 6:] = 5
    torch.testing.assert_close(model(words)[:, :6], model(changed)[:, :6], atol=1e-6, rtol=0)
    torch.testing.assert_close(model(words[1:2])[0], model(words)[1], atol=1e-5, rtol=1e-4)
    assert isinstance(model, LanguageModel)
    model(words).square().sum().backward()
    assert all(weight.grad is not None for weight in model.parameters())


def test_watching_changes_nothing():
    model, given = reader(), torch.randn(2, 6, 4)
    with watch(model):
        seen = model(given)
    torch.testing.assert_close(seen, model(given))
