"""The beginning and the end of a server's process: live at once, ready when it is, gone when all is answered."""

from __future__ import annotations

import signal
import threading
import time

import httpx

import tests.serve.running as module
from regard.serve.run import Serving
from tests.serve.running import TOY, process, running
from tests.serve.stubs import Crew, said


def asked_apart(url: str, text: str) -> httpx.Response:
    """By a client that nobody closes while it waits; 444 where the server hangs up without a word."""
    try:
        return httpx.post(f"{url}/translate", json={"q": text, "source": "en", "target": "de"}, timeout=60)
    except httpx.TransportError:
        return httpx.Response(444)


def test_sigterm_under_load_loses_nothing() -> None:
    """Every request is answered: with a translation if it was accepted, else with 503 or no connection."""
    with process("--quiet", "--deadline", "60") as (server, url):
        found: list[tuple[int, bool]] = []
        stop = threading.Event()

        def ask() -> None:
            with httpx.Client(base_url=url, timeout=60) as client:
                while not stop.is_set():
                    try:
                        told = client.post(
                            "/translate", data={"q": "one red dog " * 8, "source": "en", "target": "de"}
                        )
                    except httpx.ConnectError:
                        return  # nobody listens any more
                    found.append((told.status_code, "translatedText" in told.text))
                    if told.status_code == 503:
                        assert told.headers["connection"] == "close"
                        return

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        while len(found) < 16:
            time.sleep(0.01)
        server.send_signal(signal.SIGTERM)
        began = time.monotonic()
        assert server.wait(60) == 0
        took = time.monotonic() - began
        stop.set()
        for thread in threads:
            thread.join()
        assert took < 30
        assert set(found) <= {(200, True), (503, False)}
        assert server.stderr is not None
        assert "ended: all that was accepted was answered" in server.stderr.read()


def until_taken(crew: Crew, text: str) -> None:
    """Until somebody works on it: a request that is there is not yet one that was accepted."""
    end = time.monotonic() + 10
    while not any(text in texts for texts in crew.log):
        assert time.monotonic() < end
        time.sleep(0.005)


def test_live_at_once_ready_later_and_503_when_about_to_end() -> None:
    crew = Crew(0.5, hire=0.3)
    with running(Serving([TOY], grace=5), crew) as server:
        assert server.client.get("/health").status_code == 200
        answered: list[httpx.Response] = []
        asking = threading.Thread(target=lambda: answered.append(asked_apart(server.url, "a")))
        asking.start()
        until_taken(crew, "a")
    asking.join()
    assert answered[0].json()["translatedText"] == said("a")
    assert server.good == [True]
    assert server.said[-1] == "ended: all that was accepted was answered"


def test_before_it_is_ready_everything_says_so() -> None:
    crew = Crew(hire=0.4)
    seen: list[tuple[int, int, int]] = []
    wait = module.wait_until_ready

    def looking(client: httpx.Client) -> None:
        seen.append(
            (
                client.get("/health").status_code,
                client.get("/ready").status_code,
                client.post("/translate", json={"q": "a", "source": "en", "target": "de"}).status_code,
            )
        )
        wait(client)

    module.wait_until_ready = looking
    try:
        with running(Serving([TOY]), crew) as server:
            assert seen == [(200, 503, 503)]
            assert server.client.get("/ready").status_code == 200
    finally:
        module.wait_until_ready = wait


def test_what_is_not_done_in_the_grace_time_is_told() -> None:
    crew = Crew()
    with running(Serving([TOY], grace=0.2), crew) as server:
        answered: list[int] = []
        asking = threading.Thread(target=lambda: answered.append(asked_apart(server.url, "WAIT").status_code))
        asking.start()
        until_taken(crew, "WAIT")
    asking.join(20)
    assert server.good == [False]
    assert not set(answered) & {200}
