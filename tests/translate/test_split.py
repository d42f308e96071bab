"""Long text in spans: every character once, none too long, sentences whole where they can be."""

from __future__ import annotations

import random
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.translate.placeholders import signs
from regard.translate.split import divided, sentences
from regard.translate.translator import Translator
from tests.translate.toys import nasty_text


def words(text: str) -> list[tuple[int, int]]:
    """Pieces for these tests: words with the space before them, in bits of at most four letters."""
    return [m.span() for m in re.finditer(r"\s*\S{1,4}|\s+$", text)]


def cut(text: str, limit: int, whole: list[tuple[int, int]] | None = None) -> list[str]:
    return [text[start:end] for start, end in divided(text, words, limit, whole or [])]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One. Two! Three?", ["One. ", "Two! ", "Three?"]),
        ('He said "no." She left.', ['He said "no." ', "She left."]),
        ("Dr. Who paid 3.50 on Dec. 5. Then left...", ["Dr. Who paid 3.50 on Dec. 5. Then left..."]),
        ("J. R. R. Tolkien wrote. We read.", ["J. R. R. Tolkien wrote. ", "We read."]),
        ("am 3. Oktober kam er. Dann ging er.", ["am 3. Oktober kam er. ", "Dann ging er."]),
        ("これは犬。あれは猫！本当？はい", ["これは犬。", "あれは猫！", "本当？", "はい"]),
        ("「はい。」と言った。", ["「はい。」", "と言った。"]),
        ("यह है। वह है।", ["यह है। ", "वह है।"]),
        ("a.b.c", ["a.b.c"]),
        ("wait... what", ["wait... what"]),
        ("", []),
    ],
)
def test_sentences(text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == found


class TestDivided:
    def test_what_fits_stays_whole(self) -> None:
        assert cut("One. Two. Three.", 6) == ["One. Two. Three."]

    def test_what_does_not_is_cut_at_sentences(self) -> None:
        assert cut("One two six. Two. Red red dog.", 5) == ["One two six. ", "Two. ", "Red red dog."]

    def test_then_behind_a_comma_then_at_a_space(self) -> None:
        assert cut("one two six, two red dog cat", 4) == ["one two six,", " two red dog cat"]
        assert cut("one two six two red dog cat", 4) == ["one two six two", " red dog cat"]

    def test_then_anywhere(self) -> None:
        assert cut("abcdefghijklmnopqrstu", 3) == ["abcdefghijkl", "mnopqrst", "u"]

    def test_line_breaks_always_part(self) -> None:
        assert cut("one\ntwo\r\nred\u2028dog\n", 99) == ["one\n", "two\r\n", "red\u2028", "dog\n"]

    def test_what_must_stay_whole_does(self) -> None:
        text = "one {abcdefghijklmnopqrstu. Vw} two red dog"
        assert "{abcdefghijklmnopqrstu. Vw}" in "|".join(cut(text, 3, signs(text)))

    def test_accents_stay_with_their_letters(self) -> None:
        assert all(not part.startswith("\u0301") for part in cut("abce\u0301" * 9, 3))

    @settings(max_examples=150, deadline=None)
    @given(st.text(alphabet="ab.,。! \n\u2028\u0301{}日", max_size=60), st.integers(1, 9))
    def test_every_character_once_and_none_too_long(self, text: str, limit: int) -> None:
        spans = divided(text, words, limit, signs(text))
        assert "".join(text[start:end] for start, end in spans) == text
        assert [end for _, end in spans[:-1]] == [start for start, _ in spans[1:]]
        for start, end in divided(text, words, limit):
            assert len(words(text[start:end].strip())) <= limit

    def test_with_real_pieces(self, toy: Translator) -> None:
        """Characters that are four pieces each, and words that are others when cut."""
        rng, pieces = random.Random(1), toy.speaker.places
        for _ in range(60):
            text, limit = nasty_text(rng, 40), rng.randint(4, 30)
            spans = divided(text, pieces, limit)
            assert "".join(text[start:end] for start, end in spans) == text
            for start, end in spans:
                assert len(pieces(text[start:end].strip())) <= limit or end - start == 1, text[start:end]


UNITS = ["a", "a ", ".", ". ", "。", "\n", "A. ", "{", "<a", "<!--", "a@", "%", "http://", "&a", "\u0301", "1,"]


@pytest.mark.parametrize("unit", UNITS)
def test_time_is_linear(unit: str) -> None:
    """S12, an eighth of it: 125 kB that a careless pattern would take minutes for."""
    text = (unit * 125_000)[:125_000]
    start = time.process_time()
    found = signs(text)
    divided(text, words, 50, found)
    assert time.process_time() - start < 3
