"""What is refused, before a model is touched and in JSON; and what every answer carries."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from regard.serve.front import SAFE
from regard.serve.run import Serving
from regard.serve.settings import Limits
from tests.serve.running import TOY, Running, running
from tests.serve.stubs import Crew

PAIR = {"source": "en", "target": "de"}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/translate", {"q": "x" * 10_001, **PAIR}, 400),
        ("/translate", {"q": ["x"] * 129, **PAIR}, 400),
        ("/translate", {"q": ["x", "x" * 10_001], **PAIR}, 400),
        ("/translate", {"q": "x", "alternatives": 16, **PAIR}, 400),
        ("/translate", {"q": "x" * 2**20, **PAIR}, 413),
        ("/v1/translate", {"texts": []}, 422),
        ("/v1/translate", {"texts": ["x"] * 129}, 422),
        ("/v1/translate", {"texts": ["x" * 10_001]}, 422),
        ("/v1/translate", {"texts": ["x"], "beam": 17}, 422),
        ("/v1/translate", {"texts": ["x"], "nbest": 17}, 422),
        ("/v1/translate", {"texts": ["x"], "colour": "red"}, 422),
        ("/v1/translate", {"texts": ["x"] * 5, "attention": True}, 422),
        ("/v1/translate", {"texts": ["x" * 501], "attention": True}, 422),
        ("/v1/translate", {"texts": ["x"], "glossary": {str(n): "y" for n in range(65)}}, 422),
        ("/v1/translate", {"texts": ["x"], "glossary": {" ": "y"}}, 422),
        ("/v1/translate", {"texts": ["x"], "deadline": 31}, 422),
        ("/v1/translate", {"texts": ["x"], "model": "no"}, 422),
        ("/v1/views/look", {"text": "x" * 2001}, 422),
        ("/v1/views/look", {"text": "x", "prefix": "x" * 2001}, 422),
        ("/v1/views/look", {"text": "x", "nbest": 11}, 422),
        ("/v1/views/look", {"text": "x", "model": "no"}, 422),
        ("/v1/views/look", {"text": "x", "colour": "red"}, 422),
        ("/v1/views/look", {}, 422),
        ("/v1/views/none", {"text": "x"}, 404),
        ("/detect", {"q": "x" * 10_001}, 400),
    ],
)
def test_each_limit_is_told_quickly_and_no_model_is_touched(
    fake: Running, path: str, body: dict[str, Any], status: int
) -> None:
    before, began = len(fake.crew.log), time.perf_counter()
    answer = fake.client.post(path, json=body)
    assert time.perf_counter() - began < 5  # the full check measures; here the machine may be busy
    assert answer.status_code == status
    assert set(answer.json()) == {"error", "id"}
    assert len(fake.crew.log) == before


def test_at_the_limits_all_is_taken(fake: Running) -> None:
    assert fake.translate(["x" * 8000] * 128).status_code == 200
    assert fake.translate("x" * 10_000).status_code == 200
    assert fake.translate("x", alternatives=15).status_code == 200
    assert fake.post("/v1/translate", texts=["x"], beam=16, nbest=16).status_code == 200


def test_depth_and_types(fake: Running) -> None:
    deep = b'{"q": ' + b"[" * 40 + b"]" * 40 + b"}"
    told = fake.client.post("/translate", content=deep, headers={"content-type": "application/json"})
    assert (told.status_code, "32 levels" in told.json()["error"]) == (400, True)
    assert fake.client.post("/translate", content=b"q", headers={"content-type": "text/plain"}).status_code == 415
    assert fake.client.post("/v1/translate", data={"texts": "a"}).status_code == 415
    zipped = {"content-type": "application/json", "content-encoding": "gzip"}
    assert fake.client.post("/translate", content=b"{}", headers=zipped).status_code == 415


def test_other_methods_and_paths(fake: Running) -> None:
    told = fake.client.get("/translate")
    assert (told.status_code, told.headers["allow"]) == (405, "POST")
    assert fake.client.post("/health").headers["allow"] == "GET, HEAD"
    assert fake.client.head("/health").status_code == 200
    for path in ("/nothing", "/..%2f..%2fetc/passwd", "/%00", "/index.html/x", "/v1/views"):
        told = fake.client.get(path)
        assert told.status_code == 404
        assert told.json()["error"]


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(2**16)
    except ConnectionResetError:  # it hung up before all was read
        return b""


def raw(server: Running, content: bytes, seconds: float = 5) -> bytes:
    """What a server says to these bytes, until it hangs up or says nothing more."""
    host, port = server.url.removeprefix("http://").split(":")
    found = b""
    with socket.create_connection((host, int(port)), timeout=seconds) as connection:
        connection.sendall(content)
        while some := _received(connection):
            found += some
            head, _, body = found.partition(b"\r\n\r\n")
            size = [
                int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
            ]
            if size and len(body) >= size[0]:
                break
    return found


def test_a_body_that_is_announced_too_large_is_not_waited_for(fake: Running) -> None:
    head = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    assert b" 413 " in raw(fake, head + b"Content-Length: 99999999\r\n\r\n").split(b"\r\n")[0]
    chunks = b"10000\r\n" + b"x" * 2**16 + b"\r\n"
    assert b" 413 " in raw(fake, head + b"Transfer-Encoding: chunked\r\n\r\n" + 17 * chunks).split(b"\r\n")[0]
    assert b" 200 " not in raw(fake, head + b"X: " + b"y" * 2**17 + b"\r\n\r\n")


@pytest.fixture(scope="module")
def small() -> Iterator[Running]:
    limits = Limits(body_seconds=0.2, queued_texts=4, seconds=1.0, connections=8)
    with running(Serving([TOY], limits=limits), Crew()) as server:
        yield server


def test_a_body_that_does_not_come_is_not_waited_for(small: Running) -> None:
    head = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50"
    assert b" 408 " in raw(small, head + b"\r\n\r\n{").split(b"\r\n")[0]


def test_too_many_connections_are_refused_in_json(small: Running) -> None:
    host, port = small.url.removeprefix("http://").split(":")
    held = [socket.create_connection((host, int(port))) for _ in range(8)]
    try:
        time.sleep(0.05)
        told = small.client.get("/health")
        assert (told.status_code, told.headers["retry-after"]) == (503, "1")
    finally:
        for connection in held:
            connection.close()
    small.until("regard_tasks", small.metric("regard_tasks"))
    assert small.client.get("/health").status_code == 200


@pytest.mark.parametrize("path", ["/", "/health", "/nothing", "/openapi.json"])
def test_safe_headers_are_everywhere(fake: Running, path: str) -> None:
    headers = fake.client.get(path).headers
    assert headers["content-security-policy"].startswith("default-src 'self'")
    assert all(headers[name] == told for name, told in SAFE.items())
    assert len(headers["x-request-id"]) == 16
    assert "server" not in headers


def test_an_id_can_be_brought_along(fake: Running) -> None:
    given = (b"a.b-1", "ä".encode(), b"x y", b"z" * 65)
    ids = [fake.client.get("/health", headers={"x-request-id": one}).headers["x-request-id"] for one in given]
    assert ids[0] == "a.b-1"
    assert all(len(one) == 16 for one in ids[1:])


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:5000", 200),
        ("127.0.0.1", 200),
        ("[::1]:80", 200),
        ("evil.example:5000", 421),
        ("127.0.0.1.evil.org", 421),
    ],
)
def test_a_foreign_name_for_this_machine_is_refused(fake: Running, host: str, status: int) -> None:
    assert fake.client.get("/health", headers={"host": host}).status_code == status


def test_a_name_can_be_allowed() -> None:
    with running(Serving([TOY], hosts=("Translate.example",)), Crew()) as server:
        assert server.client.get("/health", headers={"host": "translate.example"}).status_code == 200


def test_the_page_is_served_with_its_parts_and_nothing_else(fake: Running) -> None:
    page = fake.client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "http://" not in page.text.replace("http://www.w3.org", "")
    for kind, path in (("text/javascript", "/main.js"), ("text/css", "/style.css")):
        assert fake.client.get(path).headers["content-type"].startswith(kind)
    assert fake.client.get("/v1/models").json() == [{"id": "en-de", "source": "en", "target": "de", "name": "toy"}]
    assert fake.post("/v1/views/look", text="a", layer=1).json() == {
        "view": "look",
        "body": {"text": "a", "layer": 1},
    }


def test_any_unicode_comes_back_as_json(fake: Running) -> None:
    texts = [
        "\x00",
        "\ud800",
        "a\udfff",
        "👩\u200d👩\u200d👧",
        "\u202eabc",
        "e" + "\u0301" * 300,
        "</s><pad>",
        "\ufeff",
        "\u2028",
    ]
    body = json.dumps({"q": texts, **PAIR})
    told = fake.client.post("/translate", content=body, headers={"content-type": "application/json"})
    assert told.status_code == 200
    assert len(json.loads(told.content.decode("utf-8"))["translatedText"]) == len(texts)
