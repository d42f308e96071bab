"""Prefixes are kept to, phrases appear, and what cannot be said is told."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
import torch

from regard.models.build import build_model
from regard.models.seq2seq import Seq2Seq
from regard.models.settings import TransformerModel
from regard.search.beam import search
from regard.search.settings import Search
from regard.search.wishes import Wish, begun
from regard.text.ids import END
from tests.search.models import ONE, Fixed, Whim, limited, sources

SMALL = TransformerModel(
    encoder_layers=1, decoder_layers=1, width=16, heads=2, feedforward=16, dropout=0.0, tied="none"
)


def holds(words: tuple[int, ...], phrase: tuple[int, ...]) -> bool:
    return any(words[place : place + len(phrase)] == phrase for place in range(len(words)))


def test_what_is_begun_and_what_is_met() -> None:
    wish = Wish(phrases=((7, 8, 9), (5,), (5,)))
    assert wish.unmet(()) == ((7, 8, 9), (5,), (5,))
    assert wish.unmet((5, 7, 8, 9)) == ((5,),)
    assert wish.unmet((5, 7, 8, 9, 5)) == ()
    assert [begun(words, (7, 8, 9)) for words in ((), (7,), (7, 8), (7, 8, 7), (8,), (7, 8, 9))] == [0, 1, 2, 1, 0, 0]
    assert begun((6, 6, 6), (6, 6, 7)) == 2  # not lost by a third
    assert [wish.met(words) for words in ((), (7,), (7, 8), (5, 7, 8), (7, 8, 9, 5, 5))] == [0, 1, 2, 3, 5]
    assert set(wish.ways_on((7, 8))) == {9, 5}


@pytest.mark.parametrize("phrase", [(4, END), (0,), (2, 5)])
def test_ids_no_text_has_are_refused(phrase: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="padding, START or END"):
        Wish(phrases=(phrase,))
    with pytest.raises(ValueError, match="padding, START or END"):
        Wish(prefix=phrase)


def test_an_empty_phrase_is_refused() -> None:
    with pytest.raises(ValueError, match="is empty; leave it out"):
        Wish(phrases=((),))


def test_words_the_model_does_not_know_are_refused() -> None:
    for wish in (Wish(prefix=(9,)), Wish(phrases=((4, 8),))):
        with pytest.raises(ValueError, match=r"the id \d, and this model knows 8 words"):
            search(Fixed({4: 0.5, END: 0.5}), *ONE, limited(4), [wish])


def test_one_wish_for_each_sentence() -> None:
    with pytest.raises(ValueError, match="2 wishes for 1 sentences"):
        search(Fixed({END: 1.0}), *ONE, limited(4), [Wish(), Wish()])


@pytest.mark.parametrize("more", [{"beam": 1}, {"beam": 4}, {"beam": 1, "sample": True, "nbest": 3}])
def test_prefixes_are_kept_to(more: dict[str, Any]) -> None:
    machine = Whim(30, 2.0, 2.0)
    source, lengths = sources(6, 30)
    prefixes = [(), (7,), (9, 9, 9), (5, 6, 7, 8), (), (29,)]
    settings = limited(9, no_repeat=2, **more)
    found = search(machine, source, lengths, settings, [Wish(prefix) for prefix in prefixes])
    plain = search(machine, source, lengths, settings)
    for row, prefix in enumerate(prefixes):
        for hypothesis in found[row]:
            assert hypothesis.words[: len(prefix)] == prefix
            assert len(hypothesis.log_probs) == len(hypothesis.words) + hypothesis.complete
            assert sum(hypothesis.log_probs) == pytest.approx(hypothesis.log_prob, abs=1e-4)
        assert prefix or found[row] == plain[row]  # others' prefixes change nothing


def test_a_prefix_longer_than_the_limit_is_cut_and_told() -> None:
    (found,) = search(Whim(30, 2.0, 2.0), *ONE, limited(3, beam=2), [Wish((5, 6, 7, 8, 9))])
    assert [(h.words, h.complete) for h in found] == [((5, 6, 7), False)]


def test_what_follows_a_prefix_is_the_best_that_can() -> None:
    machine, limit = Whim(6, 1.0, 0.0), 4
    (found,) = search(machine, *ONE, limited(limit, beam=100, length_penalty=0.0), [Wish((5,))])
    (everything,) = search(machine, *ONE, limited(limit, beam=100, nbest=31, length_penalty=0.0))
    assert found[0].words == next(h.words for h in everything if h.words[:1] == (5,))


def wished(seed: int, rows: int) -> list[Wish]:
    chance = random.Random(seed)
    phrases = lambda: tuple(chance.randrange(4, 30) for _ in range(chance.randint(1, 3)))  # noqa: E731
    return [Wish(phrases=tuple(phrases() for _ in range(chance.randint(0, 3)))) for _ in range(rows)]


@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("kind", ["whim", "transformer"])
def test_phrases_always_appear(kind: str, beam: int) -> None:
    torch.manual_seed(1)
    machine: Seq2Seq = Whim(30, 2.0, 3.0) if kind == "whim" else build_model(SMALL, 30, 30).eval()
    source, lengths = sources(8, 30)
    wishes = wished(beam, 8)
    settings = Search(beam=beam, longest_ratio=1, longest_extra=10, no_repeat=2)
    for row, hypotheses in enumerate(search(machine, source, lengths, settings, wishes)):
        assert 1 <= len(hypotheses) <= beam
        for found in hypotheses:
            assert found.unmet == ()
            assert all(holds(found.words, phrase) for phrase in wishes[row].phrases)
            assert len(found.words) + found.complete <= int(lengths[row]) + 10
        alone = search(machine, source[row : row + 1], lengths[row : row + 1], settings, [wishes[row]])[0]
        assert [h.words for h in alone] == [h.words for h in hypotheses]


def test_with_room_for_all_the_best_that_holds_the_phrase_is_found() -> None:
    machine, limit = Whim(6, 1.0, 0.0), 4
    for phrase in ((4,), (5, 4), (4, 4)):
        (found,) = search(machine, *ONE, limited(limit, beam=100, length_penalty=0.0), [Wish(phrases=(phrase,))])
        (everything,) = search(machine, *ONE, limited(limit, beam=100, nbest=15, length_penalty=0.0))
        best = next(h for h in everything if h.complete and holds(h.words, phrase))
        assert found[0].words == best.words
        assert found[0].score == pytest.approx(best.score)


def test_phrases_for_which_there_is_no_room_are_told() -> None:
    """The first fits, the second does not any more, the third does."""
    wish = Wish(phrases=((5, 6), (7, 7, 7, 7), (4,)))
    (found,) = search(Fixed({4: 0.3, 5: 0.2, 6: 0.2, 7: 0.1, END: 0.2}), *ONE, limited(5, beam=3), [wish])
    for hypothesis in found:
        assert hypothesis.unmet == ((7, 7, 7, 7),)
        assert holds(hypothesis.words, (5, 6))


def test_phrases_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match="cannot be drawn by chance"):
        search(Fixed({END: 1.0}), *ONE, limited(4, sample=True), [Wish(phrases=((4,),))])


def test_a_phrase_stands_where_it_fits() -> None:
    """A model that would rather say 6 7 at the third place is not made to say it first."""
    likely = {1: 4, 2: 5, 3: 6, 4: 7, 5: END}

    class Orderly(Whim):
        def fancy(self, source: tuple[int, ...], words: tuple[int, ...]) -> torch.Tensor:
            scores = torch.zeros(9)
            scores[likely.get(len(words), END)] = 2.0 if len(words) in (3, 4) else 6.0
            scores[8] = 2.5  # what it would say instead
            return scores

    (plain,) = search(Orderly(9, 0, 0), *ONE, limited(12, beam=4))
    assert not holds(plain[0].words, (6, 7))
    (found,) = search(Orderly(9, 0, 0), *ONE, limited(12, beam=4), [Wish(phrases=((6, 7),))])
    assert found[0].words == (4, 5, 6, 7)
    for order in itertools.permutations(((6, 7), (4,))):
        assert search(Orderly(9, 0, 0), *ONE, limited(12, beam=4), [Wish(phrases=order)])[0][0].words == (4, 5, 6, 7)
