"""Articles from JSON lines: texts or lists of texts, cut where they are long, refused with their line."""

from __future__ import annotations

import gzip
import json

import pytest

from regard.text.articles import articles
from regard.text.lines import BadText


def written(tmp_path, *rows):
    path = tmp_path / "some.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    return path


def test_sentences_are_joined_and_every_target_is_a_summary(tmp_path):
    path = written(
        tmp_path, {"source": ["One two.", "Three"], "target": ["A b", "C"]}, {"source": "D", "target": "e"}
    )
    found = list(articles(path, 4, 1))
    assert found[0].text == ("one", "two", ".", "three")
    assert found[0].summaries == (("a",), ("c",))
    assert found[1].summaries == (("e",),)
    assert next(iter(articles(path, 2, 9))).text == ("one", "two")


def test_what_has_no_words_is_left_out(tmp_path):
    assert not list(
        articles(written(tmp_path, {"source": " ", "target": "a"}, {"source": "a", "target": [" "]}), 9, 9)
    )


@pytest.mark.parametrize("row", [{"source": "a"}, {"source": 3, "target": "b"}, {"source": [], "target": "b"}, ["a"]])
def test_other_lines_are_refused_with_their_number(tmp_path, row):
    path = written(tmp_path, {"source": "a", "target": "b"}, row)
    with pytest.raises(BadText, match=r":2: .*with a source and a target"):
        list(articles(path, 9, 9))
