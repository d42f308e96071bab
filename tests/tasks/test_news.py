"""Invented news: the same for a seed, words that nobody knows, and one right summary that is read off the text."""

from __future__ import annotations

import numpy as np
import pytest

from regard.tasks.news import HEADLINES, PROBLEMS, VERBS, draw, invented, is_right, known_words, summary_of
from regard.tasks.rouge import repeats
from regard.text.words import Words

TEXT = (
    "just in : Bado of Kela sold 41000 maps . meanwhile , Tiru of Moga lost 22000 bells . "
    "breaking news : Peni of Zafo drew 30303 kites ."
)


def test_the_summary_is_what_the_marked_sentences_say():
    right = "Bado sells 41000 maps in Kela . Peni draws 30303 kites in Zafo ."
    text, said = tuple(TEXT.split()), tuple(right.split())
    assert summary_of(text) == said
    assert is_right(said, text)
    assert is_right(said[7:] + said[:7], text)
    for wrong in (said[:7], said + said[:7], said[:-1], (*said, "maps"), said[7:] + said[:6] + ("in",), ()):
        assert not is_right(wrong, text)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_article_can_be_summarised_from_its_words_alone(problem):
    rng, words = np.random.default_rng(1), Words(known_words())
    for size in (1, 3, 9) * 5:
        article = draw(rng, problem, size)
        told = " ".join(article.text)
        marks = sum(told.count(headline) for headline in HEADLINES)
        assert article.text.count(".") == size
        assert len(article.summaries[0]) == 7 * marks
        assert 1 <= marks <= size
        assert marks == 1 or problem == "digest"
        unknown = [word for word in article.summaries[0] if word not in words]
        assert len(unknown) == 3 * marks
        assert len(set(unknown)) == len(unknown)
        assert set(unknown) <= set(article.text)
        assert repeats(article.summaries[0])[0] == 0
        assert is_right(article.summaries[0], article.text)


def test_a_digest_is_told_in_any_order():
    rng = np.random.default_rng(2)
    some = [draw(rng, "digest", 6) for _ in range(20)]
    assert any(article.summaries[0] != summary_of(article.text) for article in some)
    assert {len(article.summaries[0]) for article in some} > {28}


def test_the_same_seed_draws_the_same():
    first, again = (draw(np.random.default_rng(5), "digest", 6) for _ in range(2))
    assert first == again
    assert draw(np.random.default_rng(6), "digest", 6) != first


def test_invented_words_differ_and_are_not_known():
    found = invented(np.random.default_rng(0), 500)
    assert len(set(found)) == 500
    assert not set(found) & set(known_words())
    assert len(set(VERBS.values())) == len(VERBS)
