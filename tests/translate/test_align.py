"""Pieces, words and links: what can be worked out by hand."""

from __future__ import annotations

import random

import numpy as np
import pytest

from regard.translate.align import aer, agreement, by_word, chosen, links, moses, places, strongest, words_of
from regard.translate.translator import Translator
from tests.translate.toys import nasty_text


class TestWords:
    def test_pieces_make_words(self) -> None:
        words, owners = words_of(["▁a", "▁bi", "g", "▁", "▁d", "og", ".", "</s>"])
        assert words == ["a", "big", "dog."]
        assert owners == [0, 1, 1, -1, 2, 2, 2, -1]

    def test_bytes_of_one_character_are_together(self) -> None:
        words, owners = words_of(["▁x", "<0xE6>", "<0x97>", "<0xA5>", "<0xE3>", "<0x80>", "<0x80>", "y"])
        assert words == ["x日", "y"]  # U+3000 is a space
        assert owners == [0, 0, 0, 0, -1, -1, -1, 1]

    def test_broken_bytes(self, toy: Translator) -> None:
        assert words_of(["<0xE6>", "<0x97>", "a"])[0] == ["\ufffd\ufffda"]

    def test_control_words_of_a_user_are_text(self, toy: Translator) -> None:
        pieces = toy.speaker.source
        for text in ("</s>", "<pad> <s>", "<unk>", "<0x41>"):
            ids = pieces.encode([text])[0]
            assert min(ids) > 3
            assert words_of(pieces.words(ids))[0] == text.split()

    def test_places_are_those_of_the_decoded_text(self, toy: Translator) -> None:
        """Of any pieces a model may say, and of any text a user may write."""
        rng, pieces = random.Random(1), toy.speaker.source
        rows = [[rng.randrange(4, len(pieces)) for _ in range(rng.randint(0, 9))] for _ in range(300)]
        rows += pieces.encode([nasty_text(rng) for _ in range(300)])
        for row, text in zip(rows, pieces.decode(rows), strict=True):
            written = pieces.words(row)
            words, owners = words_of(written)
            assert words == text.split()
            spans = places(written)
            assert max((end for _, end in spans), default=0) == len(text)
            assert sorted(set(owners) - {-1}) == list(range(len(words)))


class TestLinks:
    attention = np.array(
        [
            [[[0.6, 0.2, 0.2], [0.0, 0.9, 0.1]], [[0.0, 1.0, 0.0], [0.5, 0.3, 0.2]]],
            [[[0.1, 0.2, 0.7], [0.2, 0.2, 0.6]], [[0.4, 0.3, 0.3], [0.0, 0.0, 1.0]]],
        ]
    )

    def test_one_head(self) -> None:
        assert links(self.attention, [0, 1, 2], [0, 1], layer=0, heads=[0]) == [(0, 0), (1, 1)]
        assert links(self.attention, [0, 1, 2], [0, 1], layer=0, heads=[1]) == [(1, 0), (0, 1)]

    def test_the_mean_of_the_last_layer_but_one(self) -> None:
        assert chosen(self.attention).tolist() == [pytest.approx([0.3, 0.6, 0.1]), pytest.approx([0.25, 0.6, 0.15])]
        assert links(self.attention, [0, 1, 2], [0, 1]) == [(1, 0), (1, 1)]
        assert links(self.attention, [0, 1, 2], [0, 1], layer=-1) == [(0, 0), (2, 1)]  # the last has most of both
        assert chosen(self.attention[:1]).tolist() == chosen(self.attention).tolist()

    def test_pieces_of_a_source_word_are_added_and_of_a_target_word_averaged(self) -> None:
        table = by_word(self.attention[0, 0], [0, 1, 1], [0, 0])
        assert table.tolist() == [pytest.approx([0.3, 0.7])]
        assert links(self.attention, [0, 1, 1], [0, 0], layer=0, heads=[0]) == [(1, 0)]

    def test_what_is_no_word_has_no_link(self) -> None:
        assert links(self.attention, [0, -1, 1], [0, -1], layer=0, heads=[1]) == []  # all of it on a space
        assert links(self.attention, [-1, -1, -1], [0, 1]) == []
        assert links(self.attention[:, :, :0, :0], [], []) == []

    @pytest.mark.parametrize(
        ("given", "told"),
        [
            ({"layer": 2}, "there is no layer 2; the model has 2"),
            ({"layer": -3}, "there is no layer -3"),
            ({"heads": [0, 2]}, "there is no head 2; a layer of this model has 2"),
        ],
    )
    def test_what_is_not_there(self, given: dict[str, object], told: str) -> None:
        with pytest.raises(ValueError, match=told):
            links(self.attention, [0, 1, 2], [0, 1], **given)  # type: ignore[arg-type]

    def test_weights_of_other_keys(self) -> None:
        with pytest.raises(ValueError, match="the weights are 2 by 3, and there are 2 pieces of the translation"):
            links(self.attention, [0, 1], [0, 1])

    def test_moses(self) -> None:
        assert moses([(1, 0), (0, 2), (0, 1)]) == "0-1 0-2 1-0"
        assert moses([]) == ""


class TestScores:
    def test_error_rate(self) -> None:
        sure, possible = {(0, 0), (1, 1)}, {(2, 1)}
        assert aer(sure, sure, possible) == 0
        assert aer({(0, 0), (2, 1)}, sure, possible) == pytest.approx(1 - (1 + 2) / 4)
        assert aer({(3, 3)}, sure, possible) == 1
        assert aer({(0, 0), (3, 3), (2, 1)}, sure, possible) == pytest.approx(1 - (1 + 2) / 5)
        assert aer((), ()) == 0
        assert aer((), sure) == 1

    def test_agreement(self) -> None:
        assert agreement(np.eye(3)) == 1
        assert agreement(np.array([[0.9, 0.1], [0.8, 0.2]])) == pytest.approx(2 * 1 / 4)  # 0-0 1-0 against 0-0 1-1
        assert agreement(np.zeros((0, 3))) == 1
        assert agreement(np.zeros((2, 2))) == 0


class TestEvened:
    def test_what_every_word_looks_at_belongs_to_none(self) -> None:
        table = np.array([[0.3, 0.1, 0.6], [0.1, 0.35, 0.55], [0.1, 0.1, 0.8]])
        assert strongest(table) == [(0, 0), (1, 1), (2, 2)]

    def test_one_word_alone_keeps_its_order(self) -> None:
        rng = np.random.default_rng(1)
        for row in rng.dirichlet(np.ones(7), 50):
            assert strongest(row[None]) == [(int(row.argmax()), 0)]

    def test_a_word_that_two_come_from_keeps_both(self) -> None:
        assert strongest(np.array([[0.9, 0.1], [0.8, 0.2]])) == [(0, 0), (0, 1)]

    def test_nothing_looked_at(self) -> None:
        assert strongest(np.zeros((2, 2))) == []
        assert strongest(np.zeros((0, 3))) == []
        assert strongest(np.zeros((3, 0))) == []
