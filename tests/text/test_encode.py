"""Numbers are the same by words or by whole texts, by one process or by several, and nothing half-made is left."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.text import binarise, encode
from regard.text.binarise import Crew, binarised
from regard.text.corpus import Corpus
from regard.text.encode import Chunk, Encoder, Limits, Words
from regard.text.pieces import Pieces
from tests.text.conftest import Pair, made

U16 = np.dtype(np.uint16)
TEXT = st.lists(
    st.sampled_from([" ", "  ", "ba", "na", "\u2581", "\u3000", "\t", "é", "7", "\U0001f600", "x" * 60])
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
).map("".join)


def ids(rows: list[bytes]) -> list[list[int]]:
    return [np.frombuffer(row, U16).tolist() for row in rows]


@cache
def known_words(pieces: Pieces) -> Words:
    return Words(pieces, U16)


@given(st.lists(TEXT, max_size=8))
@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_words_have_the_pieces_of_the_whole(pieces: Pieces, texts: list[str]) -> None:
    words = known_words(pieces)
    assert words._apart
    assert ids(words.encode(texts)) == ids(words.encode(texts)) == pieces.encode(texts)


def test_only_so_many_words_are_remembered(pieces: Pieces, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encode, "_REMEMBERED", 50)
    words, texts = Words(pieces, U16), [source for _, source, _ in made(200)]
    for start in range(0, 200, 20):
        assert ids(words.encode(texts[start : start + 20])) == pieces.encode(texts[start : start + 20])
    assert len(words._known) < 250
    words.encode(["y" * 100])
    assert "y" * 100 not in words._known


def test_pieces_over_spaces_are_found_out(pieces: Pieces, monkeypatch: pytest.MonkeyPatch) -> None:
    """A vocabulary with such a piece has its texts encoded whole."""
    real = pieces.words
    monkeypatch.setattr(pieces, "words", lambda which: [*real(which), "\u2581of\u2581the"])
    words = Words(pieces, U16)
    assert not words._apart
    assert ids(words.encode(["ba na", ""])) == pieces.encode(["ba na", ""])


PAIRS = [*made(130), (131, "", "x"), (132, "b", "x y z x y z x y z"), (133, "na " * 400, "an"), *made(30, seed=4)]


def encoder(pieces: Pieces) -> Encoder:
    return Encoder(pieces, pieces, Limits(60, 4.0))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small chunks, and hardly any of them done alone."""
    monkeypatch.setattr(binarise, "CHUNK", 7)
    monkeypatch.setattr(binarise, "ALONE", 2)


@pytest.mark.usefixtures("small")
def test_any_number_of_processes_gives_the_same(tmp_path: Path, pieces: Pieces) -> None:
    built = [
        Corpus.build(tmp_path / f"{count}", PAIRS, Encoder(pieces, pieces, Limits(60, 4.0)), processes=count).manifest
        for count in (1, 3)
    ]
    assert built[0] == built[1]
    assert built[0]["skipped"]["empty"] == {"count": 1, "lines": [131]}
    assert set(built[0]["skipped"]) == {"empty", "one side much longer", "too long"}


def test_little_text_needs_no_other_process(pieces: Pieces, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binarise, "Crew", lambda *_: pytest.fail("processes were started"))
    assert sum(len(chunk.kept) for _, chunk in binarised(made(50), encoder(pieces), processes=4)) > 0


@pytest.mark.usefixtures("small")
class TestTrouble:
    """Whatever ends the work ends the processes."""

    def test_a_killed_process_is_told(self, tmp_path: Path, pieces: Pieces, monkeypatch: pytest.MonkeyPatch) -> None:
        crews: list[Crew] = []
        enter = Crew.__enter__
        monkeypatch.setattr(Crew, "__enter__", lambda crew: (crews.append(crew), enter(crew))[1])

        def pairs() -> Iterator[Pair]:
            for number, pair in enumerate(made(400)):
                if number == 100:
                    os.kill(crews[0]._processes[0].pid, signal.SIGKILL)
                yield pair

        with pytest.raises(ValueError, match=r"ended \(killed by signal 9\).*--train.threads"):
            Corpus.build(tmp_path / "corpus", pairs(), Encoder(pieces, pieces), processes=2)
        assert not list(tmp_path.iterdir())
        assert all(process.poll() is not None for process in crews[0]._processes)

    def test_a_stop_ends_them(self, tmp_path: Path, pieces: Pieces, monkeypatch: pytest.MonkeyPatch) -> None:
        crews: list[Crew] = []
        enter = Crew.__enter__
        monkeypatch.setattr(Crew, "__enter__", lambda crew: (crews.append(crew), enter(crew))[1])
        ticks = iter(range(12))

        def stop() -> None:
            if next(ticks) == 9:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            Corpus.build(tmp_path / "corpus", made(400), Encoder(pieces, pieces), tick=stop, processes=2)
        assert not list(tmp_path.iterdir())
        assert all(process.poll() is not None for process in crews[0]._processes)

    def test_what_is_wrong_with_a_text_is_said_as_ever(self, tmp_path: Path, pieces: Pieces) -> None:
        pairs = [*made(60), (61, "half \ud83d of a pair", "x")]
        with pytest.raises(ValueError, match="half of a surrogate pair"):
            Corpus.build(tmp_path / "corpus", pairs, Encoder(pieces, pieces), processes=2)


def test_a_chunk_goes_over_a_pipe(pieces: Pieces) -> None:
    chunk = encoder(pieces).ready()(["ba na", "", "da"], ["an", "x", "ad"])
    again = Chunk.of(chunk.parts())
    assert again.kept.tolist() == chunk.kept.tolist() == [0, 2]
    assert again.skipped == chunk.skipped == [(1, "empty")]
    for one, other in zip((*chunk.lengths, *chunk.ids), (*again.lengths, *again.ids), strict=True):
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist()
    told = Encoder.from_json(encoder(pieces).to_json().encode())
    assert told.source.fingerprint == pieces.fingerprint
    assert told.limits == Limits(60, 4.0)
    assert json.loads(encoder(pieces).to_json())["limits"]["longest"] == 60
