"""Pairs are found again: other ways to read them, counts, fingerprints."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.text import lines as module
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


@pytest.mark.parametrize("block", [1, 2, 5, 64])
@pytest.mark.parametrize("packed", [False, True])
def test_lines_are_whole_wherever_blocks_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, packed: bool
) -> None:
    monkeypatch.setattr(module, "_BLOCK", block)
    content = "\ufeffäöü\r\nb\n\n\U0001f600\u2028c\nlast".encode()
    path = tmp_path / "text"
    path.write_bytes(gzip.compress(content) if packed else content)
    assert list(lines(path)) == ["äöü", "b", "", "\U0001f600\u2028c", "last"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (b"a\0", "byte 2 of the line is NUL"),
        (b"a\rb", "carriage return"),
        (b"a\xff", "byte 2 .* not UTF-8"),
    ],
)
def test_what_is_before_a_bad_line_is_given(tmp_path: Path, wrong: bytes, said: str) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"one\r\ntwo\n" + wrong + b"\nfour\n")
    found = lines(path)
    assert [next(found), next(found)] == ["one", "two"]
    with pytest.raises(BadText, match=f"text:3: .*{said}"):
        next(found)


def test_a_line_without_end_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST_LINE", 2**20)
    monkeypatch.setattr(module, "_BLOCK", 2**16)
    path = tmp_path / "text"
    path.write_bytes(b"one\n" + b"x" * 2**20 + b"\n")
    assert [len(line) for line in lines(path)] == [3, 2**20]
    path.write_bytes(b"one\n" + b"x" * (3 * 2**20))
    with pytest.raises(BadText, match="text:2: the line is longer than 1 MB"):
        list(lines(path))


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
