"""Learn sub-word pieces in a process of its own: the trainer is C++ and hears no signal while it works.

Lines come in on standard input, after one line of settings in JSON; the model goes out on standard output, or one
sentence on standard error. It is run by its path, so it imports nothing of the package.
"""

from __future__ import annotations

import ctypes
import io
import json
import random
import re
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any

SPECIAL = 4 + 256  # pad, unknown, start, end, and one piece for each byte
SAMPLE = 2_000_000  # lines; more change no vocabulary worth speaking of, but fill the memory
LONGEST = 1_000  # characters the trainer is given at once: it leaves out long lines without a word
RARE = 3  # characters seen less often are spelt in bytes
RESERVED = {" ", "\t", "\u2581", "\u2585"}  # the trainer leaves out lines with these; a space it has anyway


def sampled(texts: Iterable[str], size: int, seed: int = 1) -> list[str]:
    """All lines, or this many of them, each as likely as any other (Vitter's reservoir)."""
    found = iter(texts)
    kept = list(islice(found, size))
    rng = random.Random(seed)
    for seen, text in enumerate(found, start=size + 1):
        place = int(rng.random() * seen)
        if place < size:
            kept[place] = text
    return kept


def alphabet(texts: list[str], size: int) -> set[str]:
    """Characters that get pieces of their own: those seen more than once or twice, in at most half the vocabulary."""
    counts = Counter[str]()
    for text in texts[:: 1 + len(texts) // 200_000]:
        counts.update(text)
    ranked = sorted(counts.keys() - RESERVED, key=lambda c: (-counts[c], c))[: (size - SPECIAL) // 2]
    return {c for c in ranked if counts[c] >= RARE or counts.total() < 1000}


def portions(texts: Iterable[str], kept: set[str]) -> Iterator[str]:
    """Lines as the trainer takes them: none too long, and only these characters, so that none is left out."""
    other = re.compile(f"[^{re.escape(''.join(sorted(kept)))} ]") if kept else re.compile("[^ ]")
    for text in texts:
        text = other.sub(" ", text)
        for start in range(0, len(text), LONGEST):
            yield text[start : start + LONGEST]


def learn(texts: list[str], size: int) -> bytes:
    """A sentencepiece model of this size, or of the largest size the text has pieces for."""
    kept = alphabet(texts, size)
    try:
        return _trained(portions(texts, kept), size)
    except RuntimeError as error:
        largest = re.search(r"too high.*<= (\d+)", str(error))
        if largest is None or int(largest[1]) >= size:
            raise
        return _trained(portions(texts, kept), int(largest[1]))


def spell(texts: list[str], size: int, whole: Callable[[str], bool]) -> bytes:
    """A model whose pieces are not learned: these words as they stand, frequent ones first, and characters.

    A word keeps the space before it, and a space alone is a piece too, so that a word never seen can be spelt.
    """
    kept = alphabet(texts, size)
    counts = Counter(word for text in texts for word in text.split(" "))
    ranked = sorted((word for word in counts if whole(word)), key=lambda word: (-counts[word], word))
    room = max(0, size - SPECIAL - 1 - len(kept))
    symbols = ["\u2581", *("\u2581" + word for word in ranked if set(word) <= kept)][: 1 + room]
    kind: dict[str, Any] = {"model_type": "char", "hard_vocab_limit": False, "user_defined_symbols": symbols}
    try:
        return _trained(portions(texts, kept), size, **kind)
    except RuntimeError as error:
        if "(sum) > (0)" not in str(error):
            raise
        # Every word is a piece, and from 0.2.3 on sentencepiece wants a character besides: one no symbol reaches.
        spare = min(kept, default="a") * (1 + max(map(len, symbols)))
        return _trained(chain(portions(texts, kept), [spare]), size, **kind)


SPELLINGS: dict[str, Callable[[str], bool]] = {
    "characters": lambda word: False,
    "words": bool,
    "tagged": lambda word: "=" in word,  # as morphology writes its tags: case=DAT
}


def _trained(texts: Iterator[str], size: int, **kind: Any) -> bytes:
    import sentencepiece  # it takes a moment, and the parent may be waiting to send

    made = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=texts,
        model_writer=made,
        **({"model_type": "bpe"} | kind),
        vocab_size=size,
        num_threads=1,  # more are no faster here, and the number is written into the model
        character_coverage=1.0,
        byte_fallback=True,
        split_digits=True,  # a number is its digits: 2-12 as one piece would have to be learned for every date
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,  # what is decoded is what was encoded, spaces included
        max_sentence_length=5 * LONGEST,
        pad_id=0,
        unk_id=1,
        bos_id=2,
        eos_id=3,
        minloglevel=2,
    )
    return made.getvalue()


def _end_with_parent() -> None:
    """Where the system can: a learner whose parent was killed has nobody to tell."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def main() -> int:
    """Read settings and lines, write the model."""
    _end_with_parent()
    asked = json.loads(sys.stdin.buffer.readline())
    texts = sampled((line.decode("utf-8").removesuffix("\n") for line in sys.stdin.buffer), SAMPLE)
    try:
        whole = SPELLINGS.get(asked["spelling"])
        model = learn(texts, asked["size"]) if whole is None else spell(texts, asked["size"], whole)
    except RuntimeError as error:
        print(str(error).splitlines()[-1], file=sys.stderr)
        return 1
    sys.stdout.buffer.write(model)
    return 0


if __name__ == "__main__":
    sys.exit(main())
