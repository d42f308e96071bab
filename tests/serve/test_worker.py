"""A worker that has nothing to do gives back the room that large batches needed."""

from __future__ import annotations

import socket
import threading

import pytest

from regard.serve import worker
from regard.serve.wire import send


@pytest.mark.parametrize(("pause", "times"), [(0.0, 0), (0.2, 1)], ids=["busy", "idle"])
def test_memory_is_given_back_where_nothing_comes(pause: float, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[None] = []
    monkeypatch.setattr(worker, "IDLE", 0.05)
    monkeypatch.setattr(worker, "give_back_memory", lambda: given.append(None))
    server, here = socket.socketpair()
    with server, here:
        late = threading.Timer(pause, send, (server, {"texts": ["a"]}))
        late.start()
        if not pause:
            late.join()
        assert worker.next_message(here) == ({"texts": ["a"]}, b"")
        late.join()
    assert len(given) == times


def test_giving_back_leaves_what_is_needed() -> None:
    kept = [bytes([n % 256]) * 100_000 for n in range(50)]
    worker.give_back_memory()
    assert all(some == bytes([n % 256]) * 100_000 for n, some in enumerate(kept))
