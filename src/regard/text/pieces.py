"""Sub-word pieces: text to numbers and back, nothing unknown, nothing lost.

Sennrich et al. 2016 as sentencepiece does it (Kudo & Richardson 2018), with a piece for every byte: what has no piece
of its own is spelt in bytes. `bpe.py` is the idea alone, to read.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, cast

import sentencepiece

from regard.files import BadFile, plain_bytes
from regard.text.ids import END, PAD, START, UNKNOWN

LARGEST = 64 * 2**20
"""Bytes of a model; a million pieces have less."""
SPACE = "\u2581"  # how sentencepiece writes a space, so it must not stand for itself
_SPELT = tuple(SPACE.encode())
_STAND_INS = range(0x10FFFD, 0xF0000, -1)  # private characters, from the far end


def nothing() -> None:
    """Called while waiting; whoever must be able to stop passes something that raises."""


class Pieces:
    """A vocabulary of pieces. Encoding then decoding gives back any text exactly."""

    def __init__(self, model: bytes, requested: int | None = None, threads: int = 0) -> None:
        self.model = model
        self.requested = requested
        """The size that was asked for, where pieces were just learned; fewer came if the text had no more."""
        self.threads = threads
        """Processor threads that encode; 0 = all cores. The ids are the same."""
        try:
            self._processor = sentencepiece.SentencePieceProcessor()
            self._processor.load_from_serialized_proto(model)
        except (RuntimeError, OSError):
            raise ValueError("This is not a sentencepiece model. Was the file cut short or exchanged?") from None
        known = self._processor
        ids = (known.pad_id(), known.unk_id(), known.bos_id(), known.eos_id())
        self._first_byte = known.piece_to_id("<0x00>")
        spelt = range(self._first_byte, min(self._first_byte + 256, len(self)))
        bytes_there = [known.id_to_piece(i) for i in spelt] == [f"<0x{byte:02X}>" for byte in range(256)]
        if ids != (PAD, UNKNOWN, START, END) or not bytes_there or not all(map(known.is_byte, spelt)):
            raise ValueError(
                f"The sentencepiece model has ids {ids} for pad, unknown, start and end, or no bytes; "
                "0, 1, 2, 3 and byte fallback are needed. Learn the pieces with this package."
            )

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        size: int,
        to: Path,
        threads: int = 0,
        tick: Callable[[], None] = nothing,
        spelling: str = "bpe",
    ) -> Pieces:
        """Learn pieces from texts and write them to a file; the same texts give the same file.

        `spelling` other than bpe takes characters, words, or characters and tagged words instead (see `learn.py`).
        `tick` is called every tenth of a second, so that a signal can end it by raising. `len` of the answer is below
        `size` where the texts have no more pieces.
        """
        if size < 300:
            raise ValueError(f"A vocabulary of {size} pieces is too small: bytes take 256. Ask for at least 300.")
        model = _learned(texts, {"size": size, "spelling": spelling}, tick)
        to.parent.mkdir(parents=True, exist_ok=True)
        beside = to.with_name(f"{to.name}.new")
        beside.write_bytes(model)
        os.replace(beside, to)
        return cls(model, size, threads)

    @classmethod
    def load(cls, path: Path, threads: int = 0) -> Pieces:
        """Pieces from a file."""
        try:
            return cls.of(plain_bytes(path, LARGEST), threads)
        except BadFile:
            raise
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise ValueError(f"{path}: {reason}") from None

    @classmethod
    def of(cls, model: bytes, threads: int = 0) -> Pieces:
        """Pieces from the bytes of a file: a sentencepiece model, or one of another toolkit with numbers of ours."""
        if not model.startswith(b"{"):
            return cls(model, threads=threads)
        from regard.text.numbered import NumberedPieces

        return NumberedPieces(model, threads)

    def __len__(self) -> int:
        return int(self._processor.get_piece_size())

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the model file."""
        return hashlib.sha256(self.model).hexdigest()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of the pieces of each text, without start and end."""
        try:
            safe = [text if SPACE not in text else "" for text in texts]
            plain = self._processor.encode(safe, num_threads=self.threads or -1)
        except (RuntimeError, TypeError):
            utf8("".join(texts))
            raise
        return [self._spelt(text) if SPACE in text else ids for text, ids in zip(texts, plain, strict=True)]

    def _spelt(self, text: str) -> list[int]:
        """A text in which sentencepiece's own sign for a space occurs: there it is spelt in bytes."""
        used = set(text)
        free = (c for c in map(chr, _STAND_INS) if c not in used and self._processor.piece_to_id(c) == UNKNOWN)
        stand_in = next(free)
        found = [self._first_byte + byte for byte in stand_in.encode()]
        ids, answer = self._processor.encode(text.replace(SPACE, stand_in)), []
        at = 0
        while at < len(ids):
            here = ids[at : at + len(found)] == found
            answer += [self._first_byte + byte for byte in _SPELT] if here else [ids[at]]
            at += len(found) if here else 1
        return answer

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """The text of each row of ids; start, end and padding are silent, broken bytes become U+FFFD."""
        rows = [[int(i) for i in row] for row in ids]
        return [str(text) for text in self._processor.decode(rows)] if rows else []

    def words(self, ids: Sequence[int]) -> list[str]:
        """How each piece is written, a space as U+2581, for pictures and alignments."""
        return [str(self._processor.id_to_piece(int(i))) for i in ids]

    def spans(self, text: str) -> list[tuple[int, int]] | None:
        """Which characters each piece of a text covers; None where the pieces are the text, so that they tell."""
        return None


def utf8(text: str) -> bytes:
    """The bytes of a text, if it has any: half of a surrogate pair has none."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        some = text[max(0, error.start - 20) : error.start]
        raise ValueError(
            f"Text has half of a surrogate pair after {some!r}, which UTF-8 cannot hold. Remove it, or read it anew."
        ) from None


def _learned(texts: Iterable[str], asked: Mapping[str, object], tick: Callable[[], None]) -> bytes:
    """The model, learned by `learn.py`; whatever ends the wait ends the learner too."""
    command = [sys.executable, "-P", str(Path(__file__).with_name("learn.py"))]
    pipe = subprocess.PIPE
    # A session of its own, as Ctrl-C is for us alone to answer.
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True) as process:
        try:
            told = _tell(process, json.dumps(asked), texts, tick)
            model, errors = _answer(process, tick)
        except BaseException:
            process.kill()
            raise
    if told == 0:
        raise ValueError("There is no text to learn pieces from. Are all lines empty?")
    if process.returncode != 0 or not model:
        raise ValueError(
            f"Learning the pieces failed: {errors.decode(errors='replace').strip() or 'the learner was stopped'}."
        )
    return model


def _tell(process: subprocess.Popen[bytes], settings: str, texts: Iterable[str], tick: Callable[[], None]) -> int:
    """Send settings and lines; answers how many lines had text."""
    told, source = 0, iter(texts)
    with cast("IO[bytes]", process.stdin) as pipe:
        try:
            pipe.write(settings.encode() + b"\n")
            while some := list(islice(source, 1000)):
                tick()
                kept = [text.replace("\n", " ") for text in some if text]
                told += len(kept)
                pipe.write(utf8("".join(f"{text}\n" for text in kept)))
        except BrokenPipeError:
            pass  # it ended early; why, it says on its standard error
    process.stdin = None  # closed: there is nothing left for `communicate` to write
    return told


def _answer(process: subprocess.Popen[bytes], tick: Callable[[], None]) -> tuple[bytes, bytes]:
    while True:
        try:
            return process.communicate(timeout=0.1)
        except subprocess.TimeoutExpired:
            tick()
