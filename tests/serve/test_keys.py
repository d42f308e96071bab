"""Keys: hashes on the disk, one rate each, and the whole matrix of who is let in."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from regard.serve.keys import Keys, Rates, make, read
from regard.serve.run import Serving, bound
from tests.serve.running import TOY, Running, running
from tests.serve.stubs import Crew

BODY = {"q": "a", "source": "en", "target": "de"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keys")


@pytest.fixture(scope="module")
def given(folder: Path) -> dict[str, str]:
    file = folder / "keys"
    return {name: make(file, name, rate) for name, rate in (("free", 0), ("slow", 2), ("bulk", 100_000))}


@pytest.fixture(scope="module")
def locked(folder: Path, given: dict[str, str]) -> Iterator[Running]:
    with running(Serving([TOY], keys=folder / "keys"), Crew()) as server:
        yield server


def ask(server: Running, key: str | None, how: str, path: str = "/translate") -> httpx.Response:
    headers = {"authorization": f"Bearer {key}"} if how == "bearer" and key is not None else {}
    if path == "/metrics":
        return server.client.get(path, headers=headers)
    body = {"/translate": BODY, "/detect": {"q": "a"}, "/v1/translate": {"texts": ["a"]}}.get(path, {"text": "a"})
    return server.client.post(path, json={**body, "api_key": key} if how == "body" and key else body, headers=headers)


def test_only_hashes_are_kept_and_only_the_owner_may_read_them(folder: Path, given: dict[str, str]) -> None:
    text = (folder / "keys").read_text()
    assert [key.name for key in read(folder / "keys")] == list(given)
    assert not any(key in text or key.removeprefix("rk_") in text for key in given.values())
    assert stat.S_IMODE((folder / "keys").stat().st_mode) == 0o600
    assert len(set(given.values())) == 3
    assert all(len(key) > 40 for key in given.values())


@pytest.mark.parametrize("path", ["/translate", "/detect", "/v1/translate", "/v1/views/look", "/metrics"])
@pytest.mark.parametrize("how", ["bearer", "body"])
def test_who_is_let_in(locked: Running, given: dict[str, str], path: str, how: str) -> None:
    if (path, how) == ("/metrics", "body"):
        pytest.skip("it has no body")
    none, wrong, right = (ask(locked, key, how, path) for key in (None, "rk_wrong", given["free"]))
    assert [none.status_code, wrong.status_code, right.status_code] == [401, 403, 200]
    assert none.headers["www-authenticate"] == "Bearer"
    assert "key" in none.json()["error"]
    almost = ask(locked, given["free"][:-1], how, path)
    assert almost.status_code == 403


def test_what_anyone_may_see(locked: Running) -> None:
    for path in ("/", "/health", "/ready", "/languages", "/frontend/settings", "/v1/models", "/openapi.json"):
        assert locked.client.get(path).status_code == 200
    assert locked.client.get("/frontend/settings").json()["keyRequired"] is True


def test_each_key_has_its_own_rate(locked: Running, given: dict[str, str]) -> None:
    codes = [ask(locked, given["slow"], "bearer").status_code for _ in range(4)]
    assert codes == [200, 200, 429, 429]
    refused = ask(locked, given["slow"], "bearer")
    assert 1 <= int(refused.headers["retry-after"]) <= 31
    assert ask(locked, given["bulk"], "bearer").status_code == 200


def test_a_key_that_is_taken_out_no_longer_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.serve.keys._AGAIN", 0.0)
    file = tmp_path / "keys"
    one, two = make(file, "one", 1), make(file, "two", 1)
    keys = Keys(file)
    assert keys.find(one) is not None
    file.write_text("\n".join(line for line in file.read_text().split("\n") if not line.startswith("one")))
    os.utime(file, ns=(1, 1))
    assert keys.find(one) is None
    assert keys.find(two) is not None
    file.write_text("nonsense")
    assert keys.find(two) is not None, "a file that cannot be read changes nothing"


@pytest.mark.parametrize(
    ("text", "told"),
    [("", "has no key; make one"), ("a b c\n", r"keys:1: a name, sha256"), ("# only words\n", "has no key"),
     ("a sha256:" + "0" * 64 + " 1/min\na sha256:" + "1" * 64 + " 1/min", "two keys are named a")],
)  # fmt: skip
def test_a_bad_file_is_told_in_a_sentence(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "keys").write_text(text)
    with pytest.raises(ValueError, match=told):
        Keys(tmp_path / "keys")


def test_names_are_plain_and_stand_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be the name of a key"):
        make(tmp_path / "keys", "two words", 1)
    make(tmp_path / "keys", "one", 1)
    with pytest.raises(ValueError, match="has a key named one already"):
        make(tmp_path / "keys", "one", 1)


def test_rates_come_back_and_are_forgotten_beyond_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("regard.serve.keys.time.monotonic", lambda: clock[0])
    rates = Rates(most=2)
    assert [rates.wait("a", 2) for _ in range(3)] == [0, 0, 30]
    clock[0] = 30
    assert [rates.wait("a", 2) for _ in range(2)] == [0, 30]
    for name in "bcd":
        rates.wait(name, 2)
    assert len(rates._left) == 2
    assert rates.wait("z", 0) == 0


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_a_public_address_needs_a_key_unless_told(host: str) -> None:
    with pytest.raises(ValueError, match="give --keys FILE, or --without-keys"):
        bound(Serving([TOY], host=host))


def test_told_so_it_is_bound(folder: Path, given: dict[str, str]) -> None:
    bound(Serving([TOY], host="0.0.0.0", port=0, open=True)).close()
    bound(Serving([TOY], host="0.0.0.0", port=0, keys=folder / "keys")).close()
    with (
        bound(Serving([TOY], port=0)) as taken,
        pytest.raises(ValueError, match=r"cannot listen on 127\.0\.0\.1 port"),
    ):
        bound(Serving([TOY], port=taken.getsockname()[1]))


def test_an_answer_in_two_parts_does_not_wait_between_them() -> None:
    with bound(Serving([TOY], port=0)) as listening, socket.create_connection(listening.getsockname()):
        there, _ = listening.accept()
        with there:
            assert there.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
