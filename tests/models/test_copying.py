"""Pointer-generators: the mixture against NumPy, one step at a time, padding, company, and words nobody knows."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from regard.attend.watch import watch
from regard.models.copying import Copying, Told, build_copying
from regard.models.settings import CopyingModel
from regard.search.beam import search
from regard.search.settings import Search
from regard.text.ids import END, START, UNKNOWN

V = 12
SOURCE = torch.tensor([[5, V + 1, 7, V + 1, 5, V + 5], [V, 8, 9, V + 3, 0, 0]])
LENGTHS = torch.tensor([6, 4])
BEFORE = torch.tensor([[START, 5, V + 1, 8], [START, V, UNKNOWN, 9]])


def model(**changed) -> Copying:
    torch.manual_seed(4)
    return build_copying(CopyingModel(width=10, embedding=8, **changed), V).eval()


def test_the_mixture_is_that_of_the_formula():
    one = model()
    told = one.told(SOURCE, LENGTHS, BEFORE)
    found = one.chances(told, SOURCE).detach().exp().numpy()
    scores, own, weights = (x.detach().double().numpy() for x in (told.scores, told.own, told.weights))
    for b, t in np.ndindex(2, 4):
        words = np.exp(scores[b, t]) / np.exp(scores[b, t]).sum()
        right = np.zeros(found.shape[-1])
        right[:V] = own[b, t] * words
        for place, word in enumerate(SOURCE[b].tolist()):
            right[word] += (1 - own[b, t]) * weights[b, t, place]
        np.testing.assert_allclose(found[b, t], right, atol=1e-6)
    np.testing.assert_allclose(found.sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize("attention", ["see", "bahdanau", "luong-general"])
def test_the_likelihood_of_words_is_their_place_in_the_table(attention):
    one = model(attention=attention)
    told, after = one.told(SOURCE, LENGTHS, BEFORE), torch.tensor([[5, V + 1, 8, END], [V, UNKNOWN, 9, V + 3]])
    table = one.chances(told, SOURCE)
    torch.testing.assert_close(one.likelihood(told, SOURCE, after), table.gather(-1, after.unsqueeze(-1)).squeeze(-1))


def test_a_word_that_is_neither_known_nor_in_the_text_is_a_finite_loss():
    one = model()
    told = one.told(SOURCE, LENGTHS, BEFORE)
    found = one.likelihood(told, SOURCE, torch.full((2, 4), V + 2))  # nothing stands there for the first time
    found.sum().backward()
    assert bool(found.isfinite().all())
    assert all(bool(weight.grad.isfinite().all()) for weight in one.parameters() if weight.grad is not None)


@pytest.mark.parametrize("changed", [{}, {"attention": "bahdanau"}, {"says": "own"}, {"tied": "all"}])
def test_stepping_equals_all_at_once(changed):
    one = model(**changed)
    whole, state = one(SOURCE, LENGTHS, BEFORE), one.start(SOURCE, LENGTHS)
    for at in range(4):
        scores, state = one.step(state, BEFORE[:, at])
        torch.testing.assert_close(scores, whole[:, at])


def test_rows_can_be_picked_in_any_order():
    one = model()
    _, state = one.step(one.start(SOURCE, LENGTHS), BEFORE[:, 0])
    rows = torch.tensor([1, 0, 1])
    picked, _ = one.step(state.pick(rows), BEFORE[rows, 1])
    torch.testing.assert_close(picked, one.step(state, BEFORE[:, 1])[0][rows])


def test_padding_changes_nothing_and_is_never_copied():
    one = model()
    alone = one(SOURCE[1:, :4], LENGTHS[1:], BEFORE[1:])
    wide = one(SOURCE, LENGTHS, BEFORE)[1:]
    torch.testing.assert_close(wide[..., : V + 4], alone[..., : V + 4])
    assert bool((wide[..., V + 4 :] == -torch.inf).all())


def test_what_is_watched_is_what_is_copied_from():
    one = model()
    with watch(one) as seen:
        told = one.told(SOURCE, LENGTHS, BEFORE)
    torch.testing.assert_close(torch.cat([look.weights[:, 0] for look in seen], 1), told.weights)


def test_to_the_embedding_all_unknown_words_are_one():
    one = model()
    other = SOURCE.clone()
    other[0, 5] = UNKNOWN
    told, too = one.told(SOURCE, LENGTHS, BEFORE), one.told(other, LENGTHS, BEFORE)
    torch.testing.assert_close(told.scores, too.scores)


def test_plain_attention_says_no_word_of_the_text_alone():
    one = model(says="own")
    table = one(SOURCE, LENGTHS, BEFORE)
    assert bool((table[..., V:] == -torch.inf).all())
    told, after = one.told(SOURCE, LENGTHS, BEFORE), torch.full((2, 4), V + 1)
    torch.testing.assert_close(one.likelihood(told, SOURCE, after), table[..., UNKNOWN])
    for row in search(one, SOURCE, LENGTHS, Search(beam=2)):
        assert max(row[0].words, default=0) < V


class Parrot(Copying):
    """Copies the text word by word, then ends."""

    def chances(self, told: Told, source):
        steps = told.weights.shape[1]
        at = self.said
        self.said += steps
        table = torch.full((len(source), steps, self.vocabulary + source.shape[1]), -torch.inf)
        for row in range(len(source)):
            length = int((source[row] != 0).sum())
            table[row, :, END if at >= length else int(source[row, at])] = 0.0
        return table


def test_a_search_says_words_beyond_the_vocabulary():
    torch.manual_seed(4)
    built = build_copying(CopyingModel(width=10, embedding=8), V).eval()
    parts = (built.encoder, built.first, built.cell, built.attention, built.gate, built.words)
    for beam in (1, 3):
        parrot = Parrot(*parts).eval()
        parrot.said = 0
        found = search(parrot, SOURCE, LENGTHS, Search(beam=beam))
        assert found[0][0].words == tuple(SOURCE[0].tolist())
        assert found[1][0].words == tuple(SOURCE[1, :4].tolist())


def test_a_summary_does_not_depend_on_its_company():
    one, settings = model(), Search(beam=3, longest_extra=5)
    random = torch.Generator().manual_seed(2)
    lengths = torch.tensor([3, 17, 9, 30, 1])
    source = torch.randint(4, V, (5, 30), generator=random)
    source[:, ::3] = V + torch.arange(30)[::3]
    source = source.masked_fill(torch.arange(30) >= lengths.unsqueeze(1), 0)
    together = search(one, source, lengths, settings)
    for row, length in enumerate(lengths.tolist()):
        alone = search(one, source[row : row + 1, :length], lengths[row : row + 1], settings)[0]
        assert alone[0].words == together[row][0].words
        assert alone[0].log_probs == pytest.approx(together[row][0].log_probs, abs=1e-5)
