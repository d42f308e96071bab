"""Draws come as often as they are likely, and depend on the seed and the sentence alone."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
import torch

from regard.search.beam import search
from regard.search.sample import chances, draw
from regard.search.settings import Search
from regard.text.ids import END, PAD, START, UNKNOWN
from tests.search.models import ONE, Fixed, Whim, limited, sources


def chi_square(counts: Counter[int], shares: dict[int, float]) -> float:
    total = sum(counts.values())
    return sum((counts[word] - total * share) ** 2 / (total * share) for word, share in shares.items())


SHARES = {END: 0.1, 4: 0.4, 5: 0.3, 6: 0.15, 7: 0.05}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, SHARES),
        ({"temperature": 0.5}, {w: p**2 / sum(q**2 for q in SHARES.values()) for w, p in SHARES.items()}),
        ({"top_k": 2}, {4: 4 / 7, 5: 3 / 7}),
        ({"top_p": 0.8}, {4: 8 / 17, 5: 6 / 17, 6: 3 / 17}),
        ({"top_k": 3, "top_p": 0.7}, {4: 4 / 7, 5: 3 / 7}),
        ({"top_p": 0.01}, {4: 1.0}),
    ],
)
def test_draws_come_as_often_as_they_are_likely(settings: dict[str, float], expected: dict[int, float]) -> None:
    log_probs = torch.full((8,), -torch.inf)
    for word, share in SHARES.items():
        log_probs[word] = math.log(share)
    numbers = torch.from_numpy(np.concatenate([chances(3, (5, 6), line, 20) for line in range(250)]))
    drawn = draw(log_probs.expand(len(numbers), -1), numbers, Search(sample=True, **settings))  # type: ignore[arg-type]
    counts = Counter(drawn.tolist())
    assert set(counts) <= set(expected)
    assert chi_square(counts, expected) < 20  # 5 000 draws; four degrees of freedom exceed 18.5 once in a thousand


def test_no_word_without_a_share_is_drawn() -> None:
    log_probs = torch.full((3, 8), -torch.inf)
    log_probs[:, 5] = 0.0
    numbers = torch.tensor([0.0, 0.5, 1 - 2**-53], dtype=torch.float64)
    assert draw(log_probs, numbers, Search(sample=True)).tolist() == [5, 5, 5]


def test_whole_sentences_come_as_often_as_they_are_likely() -> None:
    machine = Fixed({4: 0.5, 5: 0.25, END: 0.25})
    (found,) = search(machine, *ONE, limited(3, sample=True, nbest=2000, length_penalty=0.0))
    counts = Counter((*h.words, *([END] if h.complete else [])) for h in found)
    shares = {4: 0.5, 5: 0.25, END: 0.25}
    expected = {}
    for words in counts:
        expected[words] = math.prod(shares[word] for word in words)
    assert sum(expected.values()) == pytest.approx(1.0)  # each of the 13 was seen
    assert chi_square(counts, expected) < 35  # type: ignore[arg-type]  # twelve degrees: 32.9 once in a thousand
    assert found == sorted(found, key=lambda h: (not h.complete, -h.score))


def test_a_draw_depends_on_seed_and_sentence_alone() -> None:
    machine = Whim(30, 1.0, 1.5)
    source, lengths = sources(7, 30)
    settings = limited(8, sample=True, nbest=3, seed=4)
    whole = search(machine, source, lengths, settings)
    backwards = torch.arange(6, -1, -1)
    assert search(machine, source[backwards], lengths[backwards], settings)[::-1] == whole
    for row in range(7):
        (alone,) = search(machine, source[row : row + 1, : lengths[row]], lengths[row : row + 1], settings)
        assert alone == whole[row]
    assert search(machine, source, lengths, settings.model_copy(update={"seed": 5})) != whole
    assert len({h.words for row in whole for h in row}) > 15  # neither sentences nor draws are alike


def test_fewer_draws_are_the_first_of_more() -> None:
    machine = Whim(30, 1.0, 1.5)
    three, one = (search(machine, *ONE, limited(8, sample=True, nbest=n))[0] for n in (3, 1))
    assert one[0].words in {h.words for h in three}


def test_draws_keep_to_the_limit_and_the_words() -> None:
    source, lengths = sources(5, 30)
    found = search(
        Whim(30, 0.1, -5.0), source, lengths, Search(sample=True, longest_ratio=2, longest_extra=3, nbest=2)
    )
    for row, length in zip(found, lengths.tolist(), strict=True):
        for one in row:
            assert (len(one.words), one.complete) == (2 * length + 3, False)
            assert not set(one.words) & {PAD, START, UNKNOWN, END}


def test_scores_are_the_models_own() -> None:
    """Not those after temperature and cuts."""
    (found,) = search(Fixed({4: 0.5, END: 0.5}), *ONE, limited(9, sample=True, temperature=0.3, top_k=1, nbest=2))
    for one in found:
        assert one.log_probs == pytest.approx([math.log(0.5)] * len(one.log_probs))
        assert one.log_prob == pytest.approx(sum(one.log_probs))


def test_a_cold_draw_is_greedy() -> None:
    machine = Whim(30, 3.0, 3.0)
    source, lengths = sources(6, 30)
    drawn = search(machine, source, lengths, limited(8, sample=True, top_k=1))
    greedy = search(machine, source, lengths, limited(8, beam=1))
    assert [row[0].words for row in drawn] == [row[0].words for row in greedy]
