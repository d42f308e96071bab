"""The report says what text is like and what is wrong with it; T14: a shifted side is noticed, a clean one is not."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from regard.text import check, shift
from regard.text.check import Report, report
from regard.text.language import language, script
from regard.text.read import Unequal, read_pairs
from regard.text.shift import fit
from tests.text.conftest import Pair, made


def told(pairs: list[Pair], **languages: str) -> str:
    return "\n".join(report(pairs, **languages).lines)


def shifted(pairs: list[Pair], place: int, by: int) -> list[Pair]:
    """The target with a line put in (by 1) or taken out (by -1) at a place."""
    targets = [target for _, _, target in pairs]
    targets[place:] = ["put in", *targets[place:-1]] if by > 0 else [*targets[place + 1 :], "put at the end"]
    return [(line, source, target) for (line, source, _), target in zip(pairs, targets, strict=True)]


@pytest.mark.parametrize("seed", range(6))
def test_a_shift_is_noticed_and_its_place_named(seed: int) -> None:
    """Six of the hundred places of T14; on real text all hundred are in docs/data.md."""
    rng = random.Random(seed)
    place, by = rng.randrange(9_500), rng.choice((-1, 1))
    pairs = made(10_000)
    found = fit(*zip(*[pair[1:] for pair in shifted(pairs, place, by)], strict=True))
    assert found.shift is not None
    assert found.shift.by == by
    assert abs(found.shift.first - place) <= 10
    assert found.shift.last >= 9_990


def test_a_clean_file_is_not_said_to_be_shifted() -> None:
    for pairs in (made(3_000), sorted(made(3_000), key=lambda pair: len(pair[1]))):
        assert fit(*zip(*[pair[1:] for pair in pairs], strict=True)).shift is None
    assert "shifted" not in told(made(3_000))


def test_a_shift_is_a_warning_with_its_line() -> None:
    found = report(shifted(made(2_000), 700, -1)).warnings
    assert found[0].what == "lines that seem shifted"
    assert abs(found[0].lines[0] - 701) <= 10
    assert "too many in the source, or too few in the target" in found[0].meaning
    assert "too many in the target" in told(shifted(made(2_000), 700, 1))


def test_a_shift_after_the_last_full_window_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shift, "WINDOW", 1_500)
    monkeypatch.setattr(check, "WINDOW", 1_500)
    finding = report(shifted(made(2_000), 1_700, 1)).warnings[0]
    assert abs(finding.lines[0] - 1_701) <= 10


def test_of_very_many_windows_one_in_ten_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shift, "WINDOW", 300)
    monkeypatch.setattr(shift, "_EACH", 1)
    seen, pairs = shift.Alignment(), shifted(made(3_600), 1_000, 1)
    searched = []
    monkeypatch.setattr(shift.Alignment, "_search", lambda self: searched.append(self.pairs))
    for start in range(0, 3_600, 300):
        seen.add(pairs[start : start + 300])
    seen.close()
    assert searched == [300, 3_000, 3_600]


def test_unequal_files_are_told_where(tmp_path: Path) -> None:
    pairs = made(1_000)
    source, target = tmp_path / "s", tmp_path / "t"
    source.write_text("".join(f"{s}\n" for _, s, _ in pairs))
    target.write_text("".join(f"{t}\n" for _, _, t in pairs[:400] + pairs[401:]))
    with pytest.raises(
        Unequal, match=r"s has 1,000 lines and .*t 999.*probably near line (39|40)\d.*too few in the target"
    ):
        read_pairs(source, target)
    target.write_text("".join(f"{t}\n" for _, _, t in pairs[:-1]))
    with pytest.raises(Unequal, match=r"too few or too many\.$"):
        read_pairs(source, target)


def test_unrelated_sides_are_noticed() -> None:
    pairs = made(1_000)
    targets = [target for _, _, target in pairs]
    random.Random(0).shuffle(targets)
    wrong = [(line, source, target) for (line, source, _), target in zip(pairs, targets, strict=True)]
    assert "WARNING lines that seem unrelated: 1,000" in told(wrong)
    assert "unrelated" not in told(pairs)


def test_lengths_are_exact() -> None:
    pairs = [(n, "wort " * n, "x" * n) for n in range(1, 101)]
    found = report(pairs)
    assert found.source.words == {"mean": 50.5, "median": 50, "90 %": 90, "99 %": 99, "longest": 100}
    assert found.target.characters == found.source.words
    assert found.pairs == 100


def test_what_is_counted() -> None:
    pairs = [(1, "a b c", "x y z"), (2, "a b c", "x y z"), (3, "", "x"), (4, "q", "q"), (5, "a", "long " * 50)]
    said = told(pairs)
    assert "pairs that were there before: 1" in said
    assert "pairs with an empty side: 1 (line 3;" in said
    assert "WARNING pairs with equal sides: 1 (line 4;" in said
    assert "WARNING pairs of uneven length: 1 (line 5;" in said
    assert "few pairs: 5" in said


ENGLISH = "the dog is on the road with a man that was there"
GERMAN = "der hund ist mit dem mann auf der straße und es regnet"


def test_languages_are_guessed_and_compared() -> None:
    assert language(ENGLISH) == "en"
    assert language(GERMAN) == "de"
    assert language("xyz abc") is None
    pairs = [(line, f"{ENGLISH} {line}", f"{GERMAN} {line}") for line in range(1, 51)]
    found = report(pairs, source_language="en_GB", target_language="de")
    assert (found.source.language, found.target.language) == ("en", "de")
    assert not [finding for finding in found.warnings if "looks like" in finding.what]
    assert "WARNING source that looks like 'en': 50 (line 1, 2, 3, 4, 5, …; 'fr' was said)" in told(
        pairs, source_language="fr"
    )
    mixed = [*pairs, (51, ENGLISH, ENGLISH + " too"), (52, ENGLISH, ENGLISH + " now")]
    assert "WARNING target that looks like 'en': 2 (line 51, 52; the other side's language)" in told(mixed)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("straße", "Latin"),
        ("привет мир", "Cyrillic"),
        ("καλημέρα", "Greek"),
        ("שלום", "Hebrew"),
        ("مرحبا", "Arabic"),
        ("नमस्ते", "Devanagari"),
        ("日本語のテキスト", "Han and kana"),
        ("안녕하세요", "Hangul"),
        ("สวัสดี", "Thai"),
        ("12 % 😀", None),
        ("3.14", None),
    ],
)
def test_scripts(text: str, name: str | None) -> None:
    assert script(text) == name


def test_scripts_are_compared() -> None:
    pairs = [(line, "привет мир", "hello world") for line in range(1, 20)] + [(20, "hello there", "hello")]
    said = told(pairs, source_language="en", target_language="en")
    assert "WARNING source in Cyrillic script: 19" in said
    assert "'en' is written in Latin" in said
    assert "source in another script: 1 (line 20; Latin 1; most are Cyrillic)" in said


def test_a_report_of_nothing_and_for_programs() -> None:
    assert report([]).pairs == 0
    assert report([]).lines
    found = report(made(300))
    assert isinstance(found, Report)
    assert json.loads(json.dumps(found.as_dict()))["pairs"] == 300


def test_the_report_is_the_same_each_time() -> None:
    pairs = shifted(made(1_000), 300, 1)
    assert report(pairs) == report(iter(pairs))


def test_few_lines_and_no_words_are_no_trouble() -> None:
    assert fit(["a"] * 300, ["b"] * 300).shift is None
    assert not fit(["…"] * 300, [""] * 300).related
    assert report([(n, "", "") for n in range(500)]).pairs == 500
    rng = np.random.default_rng(0)
    noise = [(n, "w" * int(rng.integers(1, 90)), "w" * int(rng.integers(1, 90))) for n in range(1000)]
    assert "shifted" not in told(noise)


def test_text_needs_no_torch() -> None:
    """`regard data check` answers at once."""
    code = "import sys, regard.text.check, regard.text.corpus, regard.text.batch; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_of_much_text_one_window_in_ten_is_looked_at_closely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "WINDOW", 10)
    monkeypatch.setattr(shift, "WINDOW", 10)
    monkeypatch.setattr(check, "_ALL", 50)
    pairs = made(300)
    pairs = [(line, f"{source}\ufffd", "" if line % 50 == 0 else target) for line, source, target in pairs]
    found = {finding.what: finding for finding in report(pairs).findings}
    assert found["pairs looked at closely"].count == 50 + 2 * 10
    assert "beyond 50 one in ten" in found["pairs looked at closely"].meaning
    assert found["source with replacement characters"].count == 70
    assert found["pairs with an empty side"].count == 6  # of all
    assert report(pairs).pairs == 300
    assert "pairs looked at closely" not in told(made(50))


def test_twice_is_counted_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [*made(30), *made(30), *made(10)]
    twice = next(finding for finding in report(pairs).findings if finding.what == "pairs that were there before")
    assert (twice.count, twice.meaning) == (40, "kept")
    monkeypatch.setattr(check, "WINDOW", 10)
    monkeypatch.setattr(check, "_REMEMBERED", 40)
    twice = next(finding for finding in report(pairs).findings if finding.what == "pairs that were there before")
    assert (twice.count, twice.meaning) == (10, "kept, of the first 40")


def test_a_report_comes_back_from_its_dict() -> None:
    found = report([*made(300), (301, "", "x\ufffd")], "en", "de")
    assert Report.from_dict(json.loads(json.dumps(found.as_dict()))) == found
