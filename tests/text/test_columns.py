"""Dictionaries and tables of forms become pairs, and what lacks a column is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.text.columns import Table
from regard.text.read import BadText


def written(folder: Path, *lines: str) -> Path:
    file = folder / "table.tsv"
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


def test_a_word_has_every_pronunciation_once_without_stress(tmp_path):
    file = written(tmp_path, "a\tAH0\tEY1\tAH1", "ban\tB AE1 N")
    assert list(Table(file, "pronunciations")) == [(1, "a", "AH"), (1, "a", "EY"), (2, "ban", "B AE N")]
    assert list(Table(file, "pronunciations", swap=True))[-1] == (2, "B AE N", "ban")


def test_a_form_is_asked_for_by_lemma_and_features(tmp_path):
    file = written(tmp_path, "aalen\tpos=V,tense=PST\tgeaalt")
    table = Table(file, "inflections").counted()
    assert list(table) == [(1, "aalen pos=V tense=PST", "geaalt")]
    assert (table.length, table.files) == (1, (file,))


def test_a_column_too_few_is_told_with_its_line(tmp_path):
    file = written(tmp_path, "aalen\tpos=V\tgeaalt", "aasen\tgeaast")
    with pytest.raises(BadText, match=r"table\.tsv:2: 2 columns where inflections need 3"):
        list(Table(file, "inflections"))


def test_an_empty_file_is_refused(tmp_path):
    with pytest.raises(BadText, match=r"there is no line\. Give a file with one pronunciation a line"):
        Table(written(tmp_path), "pronunciations").counted()
