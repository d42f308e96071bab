"""Our own paths: what Python answers, HTTP answers; all at once or as it comes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from regard.translate.translator import Translator
from tests.serve.running import Running
from tests.serve.stubs import said
from tests.translate.toys import RUN

TEXTS = ["one red dog", "two cats.", "", "%1$s red\nhouse"]


@pytest.fixture(scope="module")
def offline() -> Translator:
    return Translator.load(RUN)


def test_all_that_is_known_of_a_translation(real: Running, offline: Translator) -> None:
    told = real.post("/v1/translate", texts=TEXTS, nbest=2, alignment=True, attention=True).json()
    assert told["model"] == "en-de"
    assert len(told["id"]) == 16
    for found, result in zip(told["results"], offline(TEXTS, nbest=2, attention=True), strict=True):
        assert found["text"] == result.text
        assert found["tokens"] == list(result.tokens)
        assert found["token_scores"] == pytest.approx(list(result.scores), abs=1e-6)
        assert [tuple(link) for link in found["alignment"]] == list(result.alignment or ())
        if len(result.nbest) > 1:
            assert [one["text"] for one in found["nbest"]] == [one.text for one in result.nbest]
        assert "".join(part["text"] for part in found["parts"]) == result.text
        for part, known in zip(found["parts"], result.parts, strict=True):
            if known.attention is not None:
                np.testing.assert_allclose(part["attention"], known.attention.numpy(), atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"beam": 1}, {"beam": 3, "nbest": 2}, {"length_penalty": 1.5}, {"keep_placeholders": True},
        {"keep_numbers": True}, {"glossary": {"dog": "Wolf"}}, {"prefix": "ein"}, {"alignment": True},
    ],
)  # fmt: skip
def test_options_are_those_of_python(real: Running, offline: Translator, options: dict[str, Any]) -> None:
    told = real.post("/v1/translate", texts=TEXTS, **options).json()["results"]
    given = dict(options)
    if "prefix" in given:
        given["prefix"] = [given["prefix"]] * len(TEXTS)
    assert [one["text"] for one in told] == [one.text for one in offline(TEXTS, **given)]


def test_control_words_are_text(real: Running, offline: Translator) -> None:
    """S13: pieces that end, pad or begin a sentence for the model cannot be typed."""
    texts = ["</s>", "one </s> red dog", "<pad> <s> <unk> <2de>", "<0x41> dog"]
    found = real.post("/v1/translate", texts=texts, alignment=True).json()["results"]
    assert [one["text"] for one in found] == [one.text for one in offline(texts)]
    for text, one in zip(texts, offline(texts), strict=True):
        sources = [token for part in one.parts for token in part.source_tokens]
        assert not set(sources) & {"</s>", "<pad>", "<s>", "<unk>"}
        assert "".join(sources).replace("\u2581", "").startswith(text[:1])


def test_more_translations_than_the_beam_is_wide_widen_it(real: Running) -> None:
    assert len(real.post("/v1/translate", texts=["one red dog"], beam=1, nbest=3).json()["results"][0]["nbest"]) == 3


def test_terms_that_would_fill_the_memory_are_refused(real: Running) -> None:
    terms = {f"w{n}": f"word{n} " * 5 for n in range(20)}
    told = real.post("/v1/translate", texts=[" ".join(terms) + " " + " ".join(terms)], glossary=terms)
    assert told.status_code == 422
    assert "fewer terms" in told.json()["error"]


def events(text: str) -> list[tuple[str, Any]]:
    found = []
    for block in text.strip().split("\n\n"):
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_events_come_one_by_one(fake: Running) -> None:
    told = fake.post("/v1/translate", texts=[f"t{n}" for n in range(70)], stream=True)
    assert told.headers["content-type"].startswith("text/event-stream")
    *results, done = events(told.text)
    assert {event["index"]: event["result"]["text"] for _, event in results} == {n: said(f"t{n}") for n in range(70)}
    assert done == ("done", {"id": told.headers["x-request-id"]})


def test_an_event_tells_what_went_wrong(fake: Running) -> None:
    late = events(fake.post("/v1/translate", texts=["a", "WAIT"], stream=True, deadline=0.2).text)
    assert late[-1][0] == "error"
    assert late[-1][1]["status"] == 504
    failed = events(fake.post("/v1/translate", texts=["FAIL"], stream=True).text)
    assert failed[0][1]["status"] == 500


def test_what_a_model_refuses_or_fails_at(fake: Running) -> None:
    assert fake.post("/v1/translate", texts=["REFUSE"]).json()["error"] == "not this one"
    assert fake.post("/v1/translate", texts=["REFUSE"]).status_code == 422
    assert fake.post("/v1/translate", texts=["a", "FAIL"]).status_code == 500
