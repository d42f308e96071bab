"""Pieces of another toolkit: its sentencepiece model as it is, and a number of ours for each piece.

Elsewhere a vocabulary may be a list of its own, in another order than the sentencepiece model, with pieces that the
model does not make and without some that it does. Unlike ours such pieces may know no bytes, and may change a text
before they cut it: what has no number is unknown, and only sentencepiece can say which characters a piece covers.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Sequence
from typing import Any

import sentencepiece

from regard.files import json_object, quoted, shown
from regard.text.ids import END, UNKNOWN
from regard.text.pieces import SPACE, Pieces, utf8

MOST = 1_000_000
"""Pieces, as many as a recipe may ask for."""
SPECIAL = 4  # padding, the unknown, START and END come first


class NumberedPieces(Pieces):
    """A sentencepiece model and a list of names; the place of a piece in the list is its number.

    The file is JSON: `sentencepiece` (base64), `names`, `first` (a number put before what is encoded, such as that
    of a language, or null), `ends` (whether END is put behind it).
    """

    def __init__(self, model: bytes, threads: int = 0) -> None:
        self.model, self.requested, self.threads = model, None, threads
        told = _told(model)
        self.names: list[str] = told["names"]
        self.first: int | None = told["first"]
        self.ends: bool = told["ends"]
        self.sentencepiece = told["sentencepiece"]
        self._processor = sentencepiece.SentencePieceProcessor()
        try:
            self._processor.load_from_serialized_proto(self.sentencepiece)
        except (RuntimeError, OSError):
            raise ValueError("The sentencepiece model in it is none. Was the file cut short or exchanged?") from None
        # what a user types is text: neither the four special ones nor a language's sign are found in it
        self._numbers = {name: n for n, name in enumerate(self.names) if n >= SPECIAL and not is_code(name)}

    @staticmethod
    def written(
        sentencepiece_model: bytes, names: Sequence[str], first: int | None = None, ends: bool = False
    ) -> bytes:
        """The file of such pieces."""
        told = {"sentencepiece": base64.b64encode(sentencepiece_model).decode("ascii"), "names": list(names)}
        return json.dumps({**told, "first": first, "ends": ends}, ensure_ascii=False, indent=0).encode()

    def __len__(self) -> int:
        return len(self.names)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Numbers of the pieces of each text, with what is put before and behind; none for a text without pieces."""
        return [self._framed(row) for row in self._pieces(texts)]

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """The text of each row; a piece that only the other side makes is written out too."""
        rows = [[self.names[i] for i in map(int, row) if i >= SPECIAL or i == UNKNOWN] for row in ids]
        return [str(self._processor.decode(row)).replace(SPACE, " ").strip() if row else "" for row in rows]

    def words(self, ids: Sequence[int]) -> list[str]:
        """How each piece is written."""
        return [self.names[int(i)] for i in ids]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """From which to which character of the text each piece reaches; what is put before and behind covers none."""
        places = _characters(text)
        proto = self._processor.encode(text, out_type="serialized_proto")
        found = [(places[begin], places[end]) for begin, end in _byte_spans(proto)]
        before, behind = [(0, 0)] if self.first is not None else [], [(len(text), len(text))] if self.ends else []
        return [*before, *found, *behind] if found else []

    def _pieces(self, texts: Sequence[str]) -> list[list[str]]:
        try:
            rows: list[list[str]] = self._processor.encode(list(texts), out_type=str, num_threads=self.threads or -1)
        except (RuntimeError, TypeError, UnicodeEncodeError):
            utf8("".join(texts))
            raise
        return rows

    def _framed(self, row: Sequence[str]) -> list[int]:
        if not row:
            return []
        before, behind = [] if self.first is None else [self.first], [END] if self.ends else []
        return [*before, *(self._numbers.get(piece, UNKNOWN) for piece in row), *behind]


def is_code(name: str) -> bool:
    """Whether this is the sign of a language, as `>>fra<<`, that tells a model of several which to say."""
    return name.startswith(">>") and name.endswith("<<") and len(name) > 4


def _told(model: bytes) -> dict[str, Any]:
    """What the file says, if it can be."""
    try:
        told = json_object(model.decode("utf-8"))
        if told.keys() != {"sentencepiece", "names", "first", "ends"}:
            raise ValueError(f"it has {quoted(sorted(told))}")
        told["sentencepiece"] = base64.b64decode(str(told["sentencepiece"]), validate=True)
    except (ValueError, binascii.Error) as error:
        raise ValueError(f"These are no numbered pieces: {shown(str(error))}. Import the model again.") from None
    names, first = told["names"], told["first"]
    if not isinstance(names, list) or not SPECIAL < len(names) <= MOST or not all(isinstance(n, str) for n in names):
        raise ValueError("These are no numbered pieces: their names are not a list of texts. Import the model again.")
    if len(set(names)) < len(names):
        raise ValueError("These are no numbered pieces: a name stands twice. Import the model again.")
    if (
        not (first is None or (type(first) is int and SPECIAL <= first < len(names)))
        or type(told["ends"]) is not bool
    ):
        raise ValueError(f"These are no numbered pieces: first is {quoted(first)}. Import the model again.")
    return told


def _characters(text: str) -> dict[int, int]:
    """Which character begins at each byte."""
    at, found = 0, {}
    for place, character in enumerate(text):
        found[at] = place
        at += len(character.encode())
    return {**found, at: len(text)}


def _byte_spans(proto: bytes) -> Iterator[tuple[int, int]]:
    """Where each piece begins and ends, of sentencepiece's answer (fields 4 and 5 of each of its fields 2)."""
    for field, piece in _fields(proto):
        if field == 2 and isinstance(piece, bytes):
            told = dict(_fields(piece))
            begin, end = told.get(4, 0), told.get(5, 0)
            assert isinstance(begin, int)
            assert isinstance(end, int)
            yield begin, end


def _fields(message: bytes) -> Iterator[tuple[int, bytes | int]]:
    """The fields of a protocol buffer: numbers, and bytes."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        size, at = (4, at) if key & 7 == 5 else _varint(message, at)
        if key & 7 == 0:
            yield key >> 3, size
        else:
            yield key >> 3, message[at : at + size]
            at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (message[at] & 0x7F) << shift
        shift += 7
        at += 1
        if message[at - 1] < 0x80:
            return value, at
