"""Pairs are found again: other ways to read them, counts, fingerprints."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.text.read import BadText, PairSource, lines

LINE = st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]))


@given(st.lists(LINE), st.booleans(), st.sampled_from(["\n", "\r\n"]))
@settings(deadline=None, max_examples=100)
def test_whatever_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], end: bool, eol: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.txt"
    path.write_bytes(("\ufeff" + eol.join(texts) + (eol if texts and (end or not texts[-1]) else "")).encode())
    assert list(lines(path)) == texts


def test_swapping_and_places(files: tuple[Path, Path]) -> None:
    pairs = PairSource(*files)
    assert list(pairs) == list(pairs) == [(1, "one", "eins"), (2, "two", "zwei")]
    assert list(pairs.swapped()) == [(1, "eins", "one"), (2, "zwei", "two")]
    assert pairs.count() == 2
    assert pairs.where(2) == f"{files[0]}:2 and {files[1]}:2"


def test_further_columns_are_further_translations(tmp_path: Path) -> None:
    path = tmp_path / "valid.tsv"
    path.write_text("go\tva\tallez\nhi\tsalut\n", encoding="utf-8")
    with pytest.raises(BadText, match="3 columns"):
        list(PairSource(pairs=path))
    pairs = PairSource(pairs=path, more=True)
    assert list(pairs) == [(1, "go", "va"), (2, "hi", "salut")]
    assert list(pairs.references()) == [(1, "go", ("va", "allez")), (2, "hi", ("salut",))]


def test_a_fingerprint_is_of_the_text_alone(tmp_path: Path, files: tuple[Path, Path]) -> None:
    source, target = files
    pairs = PairSource(source, target)
    elsewhere = tmp_path / "elsewhere.gz"
    elsewhere.write_bytes(gzip.compress(source.read_bytes()))
    assert PairSource(elsewhere, target).fingerprint() == pairs.fingerprint()
    assert pairs.swapped().fingerprint() != pairs.fingerprint()
    elsewhere.write_bytes(gzip.compress(b"one\ntwo!\n"))
    assert PairSource(elsewhere, target).fingerprint() != pairs.fingerprint()
    elsewhere.write_bytes(elsewhere.read_bytes()[:-9])
    with pytest.raises(BadText, match="is damaged"):
        PairSource(elsewhere, target).fingerprint()
