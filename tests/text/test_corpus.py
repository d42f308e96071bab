"""A corpus has the pairs it was given, tells what it left out, and notices what was changed."""

from __future__ import annotations

import gc
import json
import os
from pathlib import Path

import numpy as np
import pytest

from regard.text import binarise
from regard.text import corpus as module
from regard.text.corpus import BadCorpus, Corpus
from regard.text.encode import Encoder, Limits
from regard.text.pieces import Pieces
from regard.text.read import BadText
from tests.text.conftest import Pair, made

PAIRS: list[Pair] = [
    (3, "ba na", "an"),
    (5, "", "x"),
    (6, "b", "x y z x y z x y z"),
    (9, "na " * 40, "an"),
    (12, "da", "ad"),
]


def build(folder: Path, pieces: Pieces, pairs: list[Pair] = PAIRS) -> Corpus:
    return Corpus.build(folder / "corpus", pairs, Encoder(pieces, pieces, Limits(40, 4.0)), origin="here")


def test_pairs_come_back_with_their_lines(tmp_path: Path, pieces: Pieces, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binarise, "CHUNK", 70)  # several chunks
    pairs = made(300)
    corpus = Corpus.build(tmp_path / "corpus", pairs, Encoder(pieces, pieces, Limits(ratio=99.0)))
    assert len(corpus) == 300
    for i in (0, 69, 70, 299):
        assert tuple(pieces.decode([corpus.source(i), corpus.target(i)])) == pairs[i][1:]
        assert corpus.line(i) == pairs[i][0] == corpus.lines[i]
        assert (len(corpus.source(i)), len(corpus.target(i))) == (corpus.source_lengths[i], corpus.target_lengths[i])
    assert corpus.source(0).dtype == np.uint16
    assert corpus.source_lengths.dtype == corpus.target_lengths.dtype == np.int32
    which = np.array([299, 0, 70])
    for side, one in (("source", corpus.source), ("target", corpus.target)):
        assert [row.tolist() for row in corpus.rows(side, which)] == [one(i).tolist() for i in which]
    assert corpus.rows("source", []) == []
    with pytest.raises(IndexError, match="There is no pair 300"):
        corpus.source(300)


def test_what_is_left_out_is_counted_by_reason(tmp_path: Path, pieces: Pieces) -> None:
    corpus = build(tmp_path, pieces)
    assert corpus.skipped == {
        "empty": {"count": 1, "lines": [5]},
        "one side much longer": {"count": 1, "lines": [6]},
        "too long": {"count": 1, "lines": [9]},
    }
    assert [corpus.line(i) for i in range(len(corpus))] == [3, 12]
    assert corpus.manifest["read"] == 5
    assert "left out, empty: 1 (line 5)" in corpus.summary()


def test_only_the_first_lines_are_kept(tmp_path: Path, pieces: Pieces) -> None:
    pairs = [(line, "", "x") for line in range(1, 100)] + [(100, "ba", "ab")]
    corpus = build(tmp_path, pieces, pairs)
    assert corpus.skipped["empty"] == {"count": 99, "lines": [1, 2, 3, 4, 5]}
    assert "left out, empty: 99 (line 1, 2, 3, 4, 5, …)" in corpus.summary()


def test_the_same_text_gives_the_same_bytes(tmp_path: Path, pieces: Pieces) -> None:
    one, two = build(tmp_path / "one", pieces), build(tmp_path / "two", pieces)
    assert one.manifest == two.manifest
    assert one.manifest["origin"] == "here"
    assert one.manifest["vocabulary"]["source"] == pieces.fingerprint


def test_nothing_left_is_said(tmp_path: Path, pieces: Pieces) -> None:
    with pytest.raises(BadText, match=r"No pair is left of 2 \(2 empty\)"):
        build(tmp_path, pieces, [(1, "", "a"), (2, "a", " ")])
    with pytest.raises(BadText, match=r"No pair is left of 0 \(there was none\)"):
        build(tmp_path, pieces, [])
    assert not list(tmp_path.iterdir())


def test_a_stop_leaves_what_was_there(tmp_path: Path, pieces: Pieces) -> None:
    before = build(tmp_path, pieces).manifest

    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Corpus.build(tmp_path / "corpus", PAIRS, Encoder(pieces, pieces), tick=stop)
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]
    assert Corpus.open(tmp_path / "corpus").manifest == before
    (tmp_path / "corpus.new").mkdir()  # as a killed process leaves it
    assert len(Corpus.build(tmp_path / "corpus", made(9), Encoder(pieces, pieces, Limits(ratio=99.0)))) == 9
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


@pytest.mark.parametrize("name", module._FILES)
def test_a_flipped_bit_is_noticed(tmp_path: Path, pieces: Pieces, name: str) -> None:
    folder = build(tmp_path, pieces).folder
    data = bytearray((folder / name).read_bytes())
    data[-1] ^= 1
    (folder / name).write_bytes(data)
    with pytest.raises(BadCorpus, match=f"{name}: missing, or changed since it was written"):
        Corpus.open(folder)
    (folder / name).unlink()
    with pytest.raises(BadCorpus, match=f"{name}: missing"):
        Corpus.open(folder)


@pytest.mark.parametrize("wrong", ["", "{", "[]", "3", "[" * 10_000, '{"format": 2}', '{"format": 1, "dtype": "O"}'])
def test_a_wrong_manifest_is_said(tmp_path: Path, pieces: Pieces, wrong: str) -> None:
    folder = build(tmp_path, pieces).folder
    (folder / "manifest.json").write_text(wrong)
    with pytest.raises(BadCorpus, match="cannot be understood"):
        Corpus.open(folder)


def test_lying_manifests_and_empty_folders(tmp_path: Path, pieces: Pieces) -> None:
    folder = build(tmp_path, pieces).folder
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "pairs": 3}))
    with pytest.raises(BadCorpus, match="do not agree on the number of pairs"):
        Corpus.open(folder)
    (folder / "manifest.json").write_text(json.dumps({**manifest, "files": {"../x": {}}}))
    with pytest.raises(BadCorpus, match="it lists other files"):
        Corpus.open(folder)
    with pytest.raises(BadCorpus, match="is not a corpus, or was not finished"):
        Corpus.open(tmp_path)


def test_a_file_cut_short_in_use_is_noticed(tmp_path: Path, pieces: Pieces) -> None:
    corpus = Corpus.build(tmp_path / "corpus", made(50), Encoder(pieces, pieces, Limits(ratio=99.0)))
    os.truncate(corpus.folder / "target.ids", 40)
    assert corpus.rows("source", [49])
    with pytest.raises(OSError, match=r"target\.ids: was cut short while it was in use"):
        corpus.rows("target", [0, 49])
    os.truncate(corpus.folder / "target.offsets", 40)
    with pytest.raises(OSError, match=r"target\.offsets: was cut short"):
        corpus.target(49)


def test_files_are_closed_with_the_corpus(tmp_path: Path, pieces: Pieces) -> None:
    corpus = Corpus.build(tmp_path / "corpus", made(50), Encoder(pieces, pieces, Limits(ratio=99.0)))
    numbers = corpus._arrays["lines"]
    file = numbers._file
    os.fstat(file)
    del corpus, numbers
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(file)
