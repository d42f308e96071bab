"""What is told of requests: ids, sizes and counts, and no word of anybody's."""

from __future__ import annotations

import logging
import re
import time

import pytest

from tests.serve.running import Running

SECRET = "Sesame"


def _until(caplog: pytest.LogCaptureFixture, said: str) -> str:
    """The log once this is in it: a request is told of after its answer was sent."""
    end = time.monotonic() + 10
    while said not in caplog.text:
        assert time.monotonic() < end, f"{said} is not in the log:\n{caplog.text}"
        time.sleep(0.01)
    return caplog.text


def test_no_word_of_a_request_is_in_the_log(fake: Running, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "regard.serve")
    fake.translate(f"{SECRET} one", alternatives=1)
    fake.translate(f"FAIL {SECRET}")
    fake.translate([SECRET], format=SECRET)
    fake.post("/v1/translate", texts=[SECRET], prefix=SECRET, glossary={SECRET: SECRET})
    fake.post("/v1/translate", texts=["REFUSE " + SECRET])
    fake.post("/v1/views/look", text=SECRET)
    fake.client.get(f"/{SECRET}?q={SECRET}")
    fake.client.request(SECRET.upper(), "/translate")
    fake.client.post("/translate", content=f"{{{SECRET}".encode(), headers={"content-type": "application/json"})
    fake.client.get("/health", headers={"x-request-id": "mine"})
    told = _until(caplog, "id=mine")
    assert SECRET.lower() not in told.lower()
    assert len(re.findall(r"id=[0-9a-f]{16} ", told)) >= 9
    assert "texts=1 characters=10" in told
    assert "trouble='ValueError at here:1'" in told
    assert SECRET.lower() not in fake.client.get("/metrics").text.lower()


def test_counts_are_in_prometheus_form(fake: Running) -> None:
    assert fake.translate("REFUSE this").status_code == 422  # so that there is a refusal to count
    before = fake.metric("regard_texts_total")
    fake.translate(["a", "b", "c"])
    told = fake.client.get("/metrics")
    assert told.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert fake.metric("regard_texts_total") == before + 3
    lines = told.text.splitlines()
    line = re.compile(r'(# (HELP|TYPE) \S+ .+|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+)')
    assert all(line.fullmatch(one) for one in lines), [one for one in lines if not line.fullmatch(one)]
    for name in (
        "queue_texts", "queue_characters", "requests_total", "refused_total", "request_seconds_bucket", "draining",
        "batch_seconds_sum", "batch_texts_count", "source_tokens_total", "target_tokens_total", "open_requests",
        "workers", "workers_lost_total", "server_resident_bytes",
    ):  # fmt: skip
        assert any(one.startswith(f"regard_{name}") for one in lines), name
    buckets = [int(one.rsplit(" ", 1)[1]) for one in lines if one.startswith("regard_request_seconds_bucket")]
    assert buckets == sorted(buckets)
    assert 'path="/translate",status="200"' in told.text
    assert 'path="(other)"' in told.text or fake.client.get("/other").status_code == 404
