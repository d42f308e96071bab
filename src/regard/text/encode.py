"""Pairs of text as numbers, a chunk at a time: what is left out, what is kept, and the ids as bytes for the disk.

Run as a program it does so for another process: requests come in on standard input, answers go out.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, filterfalse
from typing import IO, Any, Self

import numpy as np
from jaxtyping import Int, Int32

from regard.text.pieces import Pieces

_CHARACTERS = 16  # sentencepiece makes no longer piece, so a text has at least a sixteenth of its length in pieces
_SPACE = "\u2581"  # how sentencepiece writes a space
_WORD = 40  # characters; a longer word is not remembered, as scripts without spaces have one in a line
_REMEMBERED = 200_000  # words; about 40 MB
_PROBES = ("", " ", "  ", "a", " a ", "a  b", "ab, c3. d", "\tx\xa0y z\u3000\u200bw \u0301", "ﬁ Ⅳ…①", "<s> <0x41>")


@dataclass(frozen=True)
class Limits:
    """Which pairs are taken; the others are left out and counted."""

    longest: int = 256
    """Pieces of a side, at most."""
    ratio: float = 9.0
    """Times the pieces of the other side, at most."""

    def against_text(self, source: str, target: str) -> str | None:
        """Why a pair is left out before it is encoded, if it is."""
        if not source.strip() or not target.strip():
            return "empty"
        return "too long" if max(len(source), len(target)) > _CHARACTERS * self.longest else None

    def against_pieces(self, source: int, target: int) -> str | None:
        """Why a pair of so many pieces is left out, if it is."""
        few, many = (source, target) if source < target else (target, source)
        if many > self.longest:
            return "too long"
        return "one side much longer" if many > self.ratio * few else None


class Words:
    """Pieces that remember words: the same ids as from the whole text, several times faster.

    No piece reaches over a space, so a text has the pieces of its words, one after the other. Where that is not so of
    a vocabulary, as its pieces and a few probes tell, whole texts are encoded as ever.
    """

    def __init__(self, pieces: Pieces, dtype: np.dtype[Any]) -> None:
        self._pieces, self._dtype = pieces, dtype
        two = self._whole([" "])[0]
        self._known: dict[str, bytes] = {"": two[: len(two) // 2]}
        inside = any(_SPACE in piece[1:] for piece in pieces.words(range(len(pieces))))
        self._apart = not inside and self._by_words(_PROBES) == self._whole(_PROBES)

    def encode(self, texts: Sequence[str]) -> list[bytes]:
        """Ids of the pieces of each text as an array's bytes, without start and end."""
        return self._by_words(texts) if self._apart else self._whole(texts)

    def _whole(self, texts: Sequence[str]) -> list[bytes]:
        return [np.array(ids, self._dtype).tobytes() for ids in self._pieces.encode(texts)]

    def _by_words(self, texts: Sequence[str]) -> list[bytes]:
        known = self._known
        rows = [text.split(" ") if text and _SPACE not in text else [text][: len(text)] for text in texts]
        new = list(dict.fromkeys(filterfalse(known.__contains__, chain.from_iterable(rows))))
        full = len(known) >= _REMEMBERED
        known.update(zip(new, self._whole(new), strict=True))
        found = [b"".join(map(known.__getitem__, row)) for row in rows]
        for word in new:
            if full or len(word) > _WORD or _SPACE in word:
                del known[word]
        return found


@dataclass(frozen=True, eq=False)
class Chunk:
    """Encoded pairs: which of the given ones they are, how long they are, and their ids one after the other."""

    kept: Int32[np.ndarray, " n"]
    lengths: tuple[Int32[np.ndarray, " n"], Int32[np.ndarray, " n"]]
    ids: tuple[Int[np.ndarray, " s"], Int[np.ndarray, " t"]]
    skipped: list[tuple[int, str]]
    """Which were left out, and why."""

    def parts(self) -> list[bytes]:
        """What goes over a pipe."""
        arrays = (self.kept, *self.lengths, *self.ids)
        head = {"dtype": self.ids[0].dtype.name, "skipped": self.skipped}
        return [json.dumps(head).encode(), *(array.tobytes() for array in arrays)]

    @classmethod
    def of(cls, parts: Sequence[bytes]) -> Self:
        """What came over a pipe."""
        head = json.loads(parts[0])
        types = [np.dtype(np.int32)] * 3 + [np.dtype(head["dtype"])] * 2
        kept, *rest = (np.frombuffer(part, kind) for part, kind in zip(parts[1:], types, strict=True))
        return cls(kept, (rest[0], rest[1]), (rest[2], rest[3]), [(i, why) for i, why in head["skipped"]])


@dataclass(frozen=True)
class Encoder:
    """Everything that decides what becomes of a pair."""

    source: Pieces
    target: Pieces
    limits: Limits = Limits()

    @property
    def dtype(self) -> np.dtype[Any]:
        """What an id is kept as."""
        return np.dtype(np.uint16 if max(len(self.source), len(self.target)) <= 2**16 else np.uint32)

    def ready(self) -> Encoding:
        """With its memory of words."""
        source = Words(self.source, self.dtype)
        same = self.source.fingerprint == self.target.fingerprint
        return Encoding(source, source if same else Words(self.target, self.dtype), self.limits, self.dtype)

    def to_json(self) -> str:
        """For another process."""
        models = [base64.b64encode(pieces.model).decode() for pieces in (self.source, self.target)]
        return json.dumps({"models": models, "limits": asdict(self.limits)})

    @classmethod
    def from_json(cls, text: bytes) -> Self:
        """From another process."""
        told = json.loads(text)
        source, target = (Pieces.of(base64.b64decode(model), threads=1) for model in told["models"])
        return cls(source, target, Limits(**told["limits"]))


@dataclass(frozen=True)
class Encoding:
    """An encoder at work."""

    source: Words
    target: Words
    limits: Limits
    dtype: np.dtype[Any]

    def __call__(self, sources: Sequence[str], targets: Sequence[str]) -> Chunk:
        """Encode pairs, but those that are left out."""
        why = [self.limits.against_text(*pair) for pair in zip(sources, targets, strict=True)]
        skipped = [(place, reason) for place, reason in enumerate(why) if reason is not None]
        taken = [place for place, reason in enumerate(why) if reason is None]
        left = self.source.encode([sources[place] for place in taken])
        right = self.target.encode([targets[place] for place in taken])
        size, kept = self.dtype.itemsize, list[int]()
        for number, (place, one, other) in enumerate(zip(taken, left, right, strict=True)):
            if reason := self.limits.against_pieces(len(one) // size, len(other) // size):
                skipped.append((place, reason))
            else:
                kept.append(number)
        rows = [[side[number] for number in kept] for side in (left, right)]
        lengths = [np.fromiter(map(len, side), np.int32, len(side)) // size for side in rows]
        ids = [np.frombuffer(b"".join(side), self.dtype) for side in rows]
        which = np.array([taken[number] for number in kept], np.int32)
        return Chunk(which, (lengths[0], lengths[1]), (ids[0], ids[1]), skipped)


def send(pipe: IO[bytes], parts: Iterable[bytes]) -> None:
    """Several byte strings as one message."""
    parts = list(parts)
    head = json.dumps([len(part) for part in parts]).encode() + b"\n"
    pipe.write(b"".join([head, *parts]))
    pipe.flush()


def receive(pipe: IO[bytes]) -> list[bytes] | None:
    """The next message; None where the other end has closed, or broke off."""
    head = pipe.readline()
    if not head.endswith(b"\n"):
        return None
    parts = [(pipe.read(size), size) for size in json.loads(head)]
    return [part for part, _ in parts] if all(len(part) == size for part, size in parts) else None


def main() -> int:
    """First the encoder, then chunks of pairs; each is answered by what it became, or by what is wrong with it."""
    given, answers = sys.stdin.buffer, sys.stdout.buffer
    first = receive(given)
    if first is None:
        return 0
    encode = Encoder.from_json(first[0]).ready()
    while (request := receive(given)) is not None:
        try:
            answer = encode(*json.loads(request[0])).parts()
        except ValueError as error:
            answer = [json.dumps({"wrong": str(error)}).encode()]
        send(answers, answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
