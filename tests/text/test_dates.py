"""Generated dates: one right answer each, splits that share nothing, the same text for the same seed."""

import datetime
import re
import subprocess
import sys
from collections import defaultdict

import pytest

from regard.text import dates

SPLITS = ("train", "valid", "test", "held_out")


@pytest.fixture(scope="module")
def text():
    return {split: dates.generate(1500 if split == "train" else 300, 1, split) for split in SPLITS}


def test_every_target_is_a_date_in_range(text):
    for pairs in text.values():
        for _, iso in pairs:
            assert datetime.date.fromisoformat(iso).isoformat() == iso
            assert dates.YEARS[0] <= int(iso[:4]) <= dates.YEARS[1]


def test_every_written_date_has_its_year_and_day(text):
    for pairs in text.values():
        for written, iso in pairs:
            year, _, day = iso.split("-")
            numbers = [int(number) for number in re.findall(r"\d+", dates.canonical(written))]
            in_words = any(word in written.lower() for word in ("first", "second", "third", "th of", "tieth", "lfth"))
            assert int(year) in numbers, written
            assert int(day) in numbers or in_words, written


def test_no_written_form_means_two_dates():
    meanings = defaultdict(set)
    for month in range(1, 13):
        for day in (1, 2, 3, 5, 11, 12, 21):
            date = datetime.date(2026, month, day)
            for group in [*dates.ways(), *dates.unseen_ways()]:
                for way in group:
                    written = way.write(date)
                    if not dates.ambiguous(written, date):
                        meanings[dates.canonical(written)].add(date)
    assert len(meanings) > 10_000
    assert {written: found for written, found in meanings.items() if len(found) > 1} == {}


@pytest.mark.parametrize(
    ("text", "day", "month", "expected"),
    [
        ("5/11/2026", 5, 11, True),
        ("Thu, 11/5/2026", 5, 11, True),
        ("15/11/2026", 15, 11, False),
        ("5/5/2026", 5, 5, False),
        ("2026/11/5", 5, 11, False),
        ("5.11.2026", 5, 11, False),
    ],
)
def test_what_could_be_read_two_ways_is_seen(text, day, month, expected):
    assert dates.ambiguous(text, datetime.date(2026, month, day)) == expected


def test_splits_share_no_written_form_even_of_other_seeds(text):
    forms = {split: {dates.canonical(written) for written, _ in pairs} for split, pairs in text.items()}
    forms["train"] |= {dates.canonical(written) for written, _ in dates.generate(1500, 2, "train")}
    for one in SPLITS:
        for other in SPLITS:
            assert one == other or not forms[one] & forms[other]


def test_unseen_locales_are_written_in_no_way_of_the_seen(text):
    seen = {written for written, _ in text["train"]}
    assert len(dates.unseen_ways()) == len(dates.UNSEEN)
    assert not {group[0].locale for group in dates.unseen_ways()} & set(dates.LOCALES)
    assert not {written for written, _ in text["held_out"]} & seen


def test_many_locales_scripts_and_digits_occur(text):
    everything = "".join(written for written, _ in text["train"])
    for sign in "aЯμ月월אع年कบ৬६٣۴":
        assert {sign, sign.lower(), sign.upper()} & set(everything), sign
    assert len(dates.LOCALES) >= 30
    assert sum(len(group) for group in dates.ways()) > 200


def test_no_marks_of_direction_and_no_odd_spaces_remain(text):
    for pairs in text.values():
        for written, _ in pairs:
            assert not re.search("[\u200e\u200f\u061c\u00a0\u202f\t]|  |^ | $", written)


def test_english_ordinals():
    ways = [way for group in dates.ways() for way in group if "{" in way.pattern and way.locale == "en_GB"]
    written = {way.write(datetime.date(2026, 11, day)) for way in ways for day in (1, 2, 3, 11, 22, 30)}
    for text in ("1st November 2026", "November 2nd, 2026", "the 3rd of November 2026", "the 11th of November 2026",
                 "the twenty-second of November, 2026", "the thirtieth of November, 2026"):  # fmt: skip
        assert text in written


def test_the_same_seed_gives_the_same_text_and_another_another():
    first = dates.generate(50, 3, "test")
    assert dates.generate(50, 3, "test") == first
    assert dates.generate(50, 4, "test") != first


def test_the_text_does_not_depend_on_the_process():
    code = "from regard.text import dates; print(dates.generate(20, 5, 'valid'))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert told.stdout.strip() == str(dates.generate(20, 5, "valid"))


def test_pairs_are_numbered_and_as_many_as_promised():
    lines = list(dates.pairs("valid", 1))
    assert [line for line, _, _ in lines] == list(range(1, dates.SIZES["valid"] + 1))


def test_it_says_plainly_that_it_is_generated():
    assert dates.describe().startswith("Generated, not collected")


def test_babel_is_imported_only_to_generate():
    code = (
        "import sys; from regard.text import dates; assert 'babel' not in sys.modules and 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
