"""Whole words: known ones keep their number, unknown ones are numbered by their place, and all come back."""

from __future__ import annotations

import pytest

from regard.files import BadFile
from regard.text.ids import UNKNOWN
from regard.text.words import FIRST, Words, split_words

WORDS = Words(["the", "cat", "sat"])
TEXT = ("the", "Zorka", "sat", "Zorka", "42")


def test_unknown_words_are_numbered_by_where_they_first_stand():
    assert WORDS.source(TEXT).tolist() == [FIRST, len(WORDS) + 1, FIRST + 2, len(WORDS) + 1, len(WORDS) + 4]


def test_a_summary_shares_the_numbers_of_its_text():
    assert WORDS.target(("42", "cat", "Zorka", "Mirko"), TEXT).tolist() == [
        len(WORDS) + 4,
        FIRST + 1,
        len(WORDS) + 1,
        UNKNOWN,
    ]


def test_what_is_said_is_read_back():
    numbers = WORDS.source(TEXT).tolist()
    assert WORDS.said(numbers, TEXT) == TEXT
    assert WORDS.said([UNKNOWN], TEXT) == ("[unknown]",)


def test_the_commonest_words_are_known_ties_by_the_alphabet():
    found = Words.of([("b", "a", "c"), ("c", "b"), ("c",)], FIRST + 2)
    assert found.known == ("c", "b")
    assert Words.of([("b", "a")], FIRST + 1).known == ("a",)
    assert "a" not in found
    assert len(found) == FIRST + 2


def test_a_vocabulary_is_kept_in_a_file(tmp_path):
    odd = Words(["a", "\u2028", "it's", "é"])
    odd.write(tmp_path / "pieces" / "words.txt")
    assert Words.read(tmp_path / "pieces" / "words.txt").known == odd.known
    (tmp_path / "bad.txt").write_bytes(b"\xff\n")
    with pytest.raises(BadFile, match="not UTF-8"):
        Words.read(tmp_path / "bad.txt")


def test_text_is_split_at_signs_and_spaces():
    assert split_words("It's GPT-2, (v1.5)!") == ("it's", "gpt", "-", "2", ",", "(", "v1", ".", "5", ")", "!")
    assert split_words(" \n") == ()
