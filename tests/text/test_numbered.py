"""Pieces of another toolkit, with numbers of ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from regard.text.ids import END, UNKNOWN
from regard.text.numbered import NumberedPieces
from regard.text.pieces import Pieces

MODEL = Path(__file__).parent.parent / "files" / "format-2" / "transformer" / "pieces" / "source.model"


@pytest.fixture(scope="module")
def content() -> bytes:
    own = Pieces.load(MODEL)
    others = [word for word in own.words(range(len(own)))[4:] if not word.startswith("<0x")]
    names = ["<pad>", "<unk>", "<s>", "</s>", ">>fra<<", *reversed(others)]
    return NumberedPieces.written(MODEL.read_bytes(), names, first=4, ends=True)


def test_numbers_and_back(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "source.model").write_bytes(content)
    pieces = Pieces.load(tmp_path / "source.model")
    assert isinstance(pieces, NumberedPieces)
    ids = pieces.encode(["one red", "", "</s>"])
    assert ids[1] == []
    assert (ids[0][0], ids[0][-1]) == (4, END)
    assert pieces.decode([ids[0][1:]]) == ["one red"]
    assert pieces.words(ids[0])[0] == ">>fra<<"
    assert END not in ids[2][:-1]
    assert 4 not in pieces.encode([">>fra<<"])[0][1:]
    assert len(pieces) == len(json.loads(content)["names"])


def test_what_has_no_number_is_unknown(content: bytes) -> None:
    pieces = NumberedPieces(content)  # a byte has none
    text = "one ☃ é dog"
    ids, spans = pieces.encode([text])[0], pieces.spans(text)
    assert UNKNOWN in ids
    assert len(spans) == len(ids)
    assert "".join(text[start:end] for start, end in spans) == text
    assert spans[0] == (0, 0)
    assert spans[-1] == (len(text), len(text))
    with pytest.raises(ValueError, match="half of a surrogate pair"):
        pieces.encode(["x \ud800"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"names": "none"}, "not a list of texts"),
        ({"names": [1, 2, 3, 4, 5]}, "not a list of texts"),
        ({"names": ["a", "b", "c", "d"]}, "not a list of texts"),
        ({"names": ["a", "b", "c", "d", "d"]}, "a name stands twice"),
        ({"first": 10**6}, "first is 1000000"),
        ({"first": True}, "first is True"),
        ({"ends": 1}, "no numbered pieces"),
        ({"more": 1}, "no numbered pieces"),
        ({"sentencepiece": "?"}, "no numbered pieces"),
        ({"sentencepiece": ""}, "The sentencepiece model in it is none"),
    ],
)
def test_a_lie_is_refused(content: bytes, change: dict[str, Any], said: str) -> None:
    told = {**json.loads(content), **change}
    with pytest.raises(ValueError, match=said):
        Pieces.of(json.dumps(told).encode())


@pytest.mark.parametrize("content", [b"{", b"{}", b"{" * 10**5, b'{"a":1,"a":2}', b"{\xff"])
def test_other_files_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="no numbered pieces"):
        Pieces.of(content)
