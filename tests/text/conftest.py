"""Text to test on: made from a seed, small, and like language in what matters."""

from __future__ import annotations

import random
from functools import cache
from itertools import accumulate
from pathlib import Path

import pytest

from regard.text.pieces import Pieces

Pair = tuple[int, str, str]


@cache
def made(count: int, seed: int = 0) -> list[Pair]:
    """Pairs in two made-up languages: Zipf's words, one in four not translated, order changed, lengths that vary."""
    rng = random.Random(seed)
    words = [
        "".join(rng.choice("bdfgklmnprst") + rng.choice("aeiou") for _ in range(rng.randint(1, 3)))
        for _ in range(800)
    ]
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(words))))
    pairs = []
    for line in range(1, count + 1):
        chosen = rng.choices(words, cum_weights=weights, k=max(2, round(rng.gauss(9, 4))))
        other = [f"{word[::-1]}en" for word in chosen if rng.random() > 0.25] or ["ja"]
        rng.shuffle(other)
        end = rng.choice("...?")
        pairs.append((line, " ".join(chosen) + end, " ".join(other) + end))
    return pairs


@pytest.fixture(scope="session")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> Pieces:
    """A small vocabulary, learned once for each process of tests."""
    texts = [text for _, source, target in made(500) for text in (source, target)]
    return Pieces.train(texts, 400, tmp_path_factory.mktemp("pieces") / "small.model")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Two files that belong together."""
    source, target = tmp_path / "a.en", tmp_path / "a.de"
    source.write_text("one\ntwo\n", encoding="utf-8")
    target.write_text("eins\nzwei\n", encoding="utf-8")
    return source, target
