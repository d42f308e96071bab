"""Gold links are read strictly, and links found are counted as Och & Ney do."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from regard.evaluate.links import Gold, link_score, read_links
from regard.text.read import BadText


def gold(tmp_path: Path, text: str, first: int = 0, sources: tuple[str, ...] = ("a b c", "d")) -> list[Gold]:
    (tmp_path / "links").write_text(text, encoding="utf-8")
    return read_links(tmp_path / "links", sources, ("x y", "z w"), first)


class TestReading:
    def test_sure_and_possible(self, tmp_path: Path) -> None:
        one, other = gold(tmp_path, "0-0 1?1 2p0\n\n")
        assert one == Gold(frozenset({(0, 0)}), frozenset({(0, 0), (1, 1), (2, 0)}))
        assert other == Gold(frozenset(), frozenset())

    def test_counted_from_one(self, tmp_path: Path) -> None:
        assert gold(tmp_path, "1-1 3p2\n1-2\n", 1)[1].sure == {(0, 1)}

    def test_gzipped(self, tmp_path: Path) -> None:
        (tmp_path / "links.gz").write_bytes(gzip.compress(b"0-0\n"))
        assert read_links(tmp_path / "links.gz", ["a"], ["b"])[0].sure == {(0, 0)}

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("0-0\n0:1\n", r"links:2: '0:1' is no link"),
            (
                "0-2\n\n",
                r"links:1: there is no link 0-2: the lines have 3 and 2 words, counted from 0; if the",
            ),
            ("0-0\n", r"links:2: it has 1 lines and the text 2"),
            ("0-0\n\n\n", r"links:3: it has 3 lines and the text 2"),
            ("0--1\n\n", "is no link"),
        ],
    )
    def test_what_is_wrong_is_told_with_its_line(self, tmp_path: Path, text: str, told: str) -> None:
        with pytest.raises(BadText, match=told):
            gold(tmp_path, text)

    def test_a_word_before_the_first(self, tmp_path: Path) -> None:
        with pytest.raises(BadText, match="counted from 1"):
            gold(tmp_path, "0-1\n\n", 1)


def test_lines_are_counted_together() -> None:
    sure = frozenset({(0, 0), (1, 1)})
    right = [Gold(sure, sure | {(1, 2)}), Gold(frozenset({(0, 0)}), frozenset({(0, 0)}))]
    found = link_score([[(0, 0), (1, 2)], [(0, 1)]], right)
    assert found.precision == pytest.approx(2 / 3)
    assert found.recall == pytest.approx(1 / 3)
    assert found.aer == pytest.approx(1 - (1 + 2) / (3 + 3))
    assert (found.lines, found.links) == (2, 3)


def test_nothing_found_and_nothing_sure() -> None:
    assert link_score([[]], [Gold(frozenset(), frozenset())]).aer == 0
    assert link_score([[]], [Gold(frozenset({(0, 0)}), frozenset({(0, 0)}))]).aer == 1
