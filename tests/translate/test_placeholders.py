"""Placeholders: found, masked, put back; the same multiset whatever the model says."""

from __future__ import annotations

import random

import numpy as np
import pytest

from regard.translate.align import Span
from regard.translate.masks import edited, masked, restored
from regard.translate.placeholders import SIGNS_AND_NUMBERS, counted, signs, together
from regard.translate.translator import Translator
from tests.translate.toys import SIGNS, nasty_text


def found(text: str) -> list[str]:
    return [text[start:end] for start, end in signs(text)]


@pytest.mark.parametrize("sign", SIGNS)
def test_each_is_found_whole(sign: str) -> None:
    assert found(f"one {sign} two") == [sign]
    assert found(f"({sign}).") == [sign]


@pytest.mark.parametrize(
    "text",
    ["100 % der Hunde", "5% of", "a < b > c", "x & y; z", "me@home", "a{b", "12:30", "see www", "http://", "20%"],
)
def test_what_is_none(text: str) -> None:
    assert found(text) == []


def test_an_address_ends_before_the_sentence_does() -> None:
    assert found("See https://a.bc/d, then (http://e.fg). 请看https://a.bc/d。谢谢 ask me@a.bc.") == [
        "https://a.bc/d", "http://e.fg", "https://a.bc/d", "me@a.bc",
    ]  # fmt: skip


def test_numbers_on_request() -> None:
    assert counted("1,234.5 or 12:30, not 7", SIGNS_AND_NUMBERS) == {"1,234.5": 1, "12:30": 1, "7": 1}


def test_those_that_touch_move_together() -> None:
    text = "<b>{name}</b> {a} {b} <i> x </i></p>"
    groups = [(text[one.start : one.end], one.tags, one.closing) for one in together(text, signs(text))]
    assert groups == [("<b>{name}</b>", False, False), ("{a} {b}", False, False), ("<i>", True, False),
                      ("</i></p>", True, True)]  # fmt: skip


class TestPutBack:
    def spans(self, text: str) -> list[Span]:
        at, spans = 0, []
        for word in text.split(" "):
            spans.append((at, at + len(word)))
            at += len(word) + 1
        return spans

    def put(self, source: str, said: str, looks: list[list[float]]) -> str | None:
        mask = masked(source, together(source, signs(source)))
        edits = restored(mask, said, self.spans(mask.text), self.spans(said), np.array(looks))
        return None if edits is None else edited(said, edits)

    def test_in_place_of_the_word_that_looked_at_it(self) -> None:
        looks = np.eye(3)[[1, 0, 2]].tolist()
        assert self.put("red {name} dog", "zwölf rot Hund", looks) == "{name} rot Hund"

    def test_of_two_words(self) -> None:
        looks = np.eye(3)[[0, 1, 1, 2]].tolist()
        assert self.put("red %s dog", "rot 1 2 Hund", looks) == "rot %s Hund"

    def test_nothing_of_a_stand_in_may_stay(self) -> None:
        assert self.put("red %s dog", "12 rot 12 Hund", np.eye(3)[[1, 0, 1, 2]].tolist()) is None
        assert self.put("red %s dog", "rot Hund", np.eye(3)[[0, 2]].tolist()) is None

    def test_tags_around_the_words_that_looked_at_their_words(self) -> None:
        looks = np.eye(3)[[2, 1, 0]].tolist()
        assert self.put("one <b>red dog</b>", "Hund rot eins", looks) is None  # would close before it opens
        looks = np.eye(3)[[1, 2, 0]].tolist()
        assert self.put("one <b>red dog</b>", "rot Hund eins", looks) == "<b>rot Hund</b> eins"
        assert self.put("one <br/> red dog", "rot Hund eins", looks) == "<br/> rot Hund eins"

    def test_places_in_the_source_are_found_again(self) -> None:
        mask = masked("a {name} <b>c</b> d", together("a {name} <b>c</b> d", signs("a {name} <b>c</b> d")))
        assert mask.text == "a 12 c d"
        assert [mask.back(span) for span in self.spans(mask.text)] == [(0, 1), (2, 8), (12, 13), (18, 19)]


class TestKept:
    def test_by_a_model_that_never_saw_one(self, toy: Translator) -> None:
        result = toy(["one {name} dog", "two <b>blue</b> cat", "red"], keep_placeholders=True)
        assert [counted(one.text) for one in result] == [{"{name}": 1}, {"<b>": 1, "</b>": 1}, {}]
        assert result[2].suspect == ()
        assert all(any("placeholders" in why for why in one.suspect) for one in result[:2])

    def test_any_text_and_any_model(self, wild: Translator) -> None:
        """Row 22: every placeholder in is the same multiset out."""
        rng = random.Random(2)
        texts = [nasty_text(rng) for _ in range(40)]
        for text, one in zip(texts, wild(texts, keep_placeholders=True, beam=1, longest=20), strict=True):
            assert counted(one.text) == counted(text), (text, one.text)
            assert "".join(text[part.start : part.end] for part in one.parts) == text

    def test_numbers_and_nbest(self, wild: Translator) -> None:
        rng = random.Random(3)
        texts = [f"{rng.randint(1, 99)} {nasty_text(rng, 6)} {rng.random():.2f}" for _ in range(8)]
        for text, one in zip(texts, wild(texts, keep_numbers=True, nbest=2), strict=True):
            for other in one.nbest:
                assert counted(other.text, SIGNS_AND_NUMBERS) == counted(text, SIGNS_AND_NUMBERS)

    def test_one_that_is_longer_than_the_limit(self, toy: Translator) -> None:
        address = "https://a.bc/" + "d" * 300
        result = toy([f"one red dog {address} two blue cat"], keep_placeholders=True, longest=20)[0]
        assert counted(result.text) == {address: 1}
