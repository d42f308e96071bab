"""Bodies from anyone: read or refused, never a traceback."""

from __future__ import annotations

import json
import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.serve.asked import SAID
from regard.serve.body import mended, of_json, value
from regard.serve.problem import Problem
from regard.serve.settings import Limits

LIMITS = Limits()
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(("depth", "good"), [(32, True), (33, False), (100_000, False)])
def test_depth_is_limited(depth: int, good: bool) -> None:
    body = b'{"a":' * (depth - 1) + b"{}" + b"}" * (depth - 1)
    if good:
        assert of_json(body, LIMITS)
    else:
        with pytest.raises(Problem, match="32 levels") as refused:
            of_json(body, LIMITS)
        assert refused.value.status == 400


@pytest.mark.parametrize(
    "body", [b"", b"[1]", b"3", b'"a"', b"null", b"{", b'{"a": NaN}', b"\xff{}", b'{"a": 1' + b"0" * 9999 + b"}"]
)
def test_what_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(Problem) as refused:
        of_json(body, LIMITS)
    assert refused.value.status == 400


def test_half_a_surrogate_pair_becomes_a_sign_for_it_and_a_whole_one_stays() -> None:
    assert of_json(rb'{"a": ["\ud83d\ude00", "x\ud800y"], "\udfff": 1}', LIMITS) == {
        "a": ["😀", "x\ufffdy"],
        "\ufffd": 1,
    }
    assert mended("plain") == "plain"


def test_fields_that_come_twice_are_a_list() -> None:
    assert value(b"q=a&q=b&q=c&source=en&empty=", FORM, LIMITS) == {"q": ["a", "b", "c"], "source": "en", "empty": ""}


def test_forms_in_parts() -> None:
    parts = ((b"q", b"a\r\nb"), (b"s", b""))
    told = (b'--x\r\nContent-Disposition: form-data; name="%b"\r\n\r\n%b\r\n' % part for part in parts)
    body = b"".join(told) + b"--x--\r\n"
    assert value(body, "multipart/form-data; boundary=x", LIMITS) == {"q": "a\r\nb", "s": ""}
    for bad in (body[:-6], body.replace(b'name="q"', b'name="q"; filename="f"'), b"", b"--x"):
        with pytest.raises(Problem):
            value(bad, "multipart/form-data; boundary=x", LIMITS)


@given(st.binary(max_size=200), st.sampled_from([JSON, FORM, "multipart/form-data; boundary=a", "text/plain", ""]))
@settings(max_examples=100, deadline=None)
def test_any_bytes_are_read_or_refused(body: bytes, kind: str) -> None:
    try:
        json.dumps(value(body, kind, LIMITS)).encode("utf-8")
    except Problem as problem:
        assert 400 <= problem.status < 500  # noqa: PT017 (or there is none)


SCALARS = st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(codec=None), max_size=20)  # halves of surrogate pairs, too
VALUES = st.recursive(SCALARS | TEXT, lambda x: st.lists(x) | st.dictionaries(TEXT, x), max_leaves=10)


@given(VALUES)
@settings(max_examples=60, deadline=None)
def test_any_json_is_text_that_utf8_can_hold(inside: object) -> None:
    found = of_json(json.dumps({"x": inside}).encode(), LIMITS)
    json.dumps(found, ensure_ascii=False).encode("utf-8")


def test_a_term_is_no_space_to_python_nor_to_a_reader_of_the_schema():
    """Python's spaces and those of ECMA-262, which JSON Schema goes by, are not the same."""
    ours_only, theirs_only = "\x1c\x1d\x1e\x1f\x85", "\ufeff"
    for number in range(sys.maxunicode + 1):
        letter = chr(number)
        space = letter.isspace() or letter in theirs_only
        assert bool(re.search(SAID, letter)) != space, hex(number)
    assert all(letter.isspace() for letter in ours_only)
