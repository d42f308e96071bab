"""A thread beside each rank: it says that it lives and how far it is, and hears when another is told to stop."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Self

from regard.train.signals import Stop

if TYPE_CHECKING:
    from torch.distributed import Store  # type: ignore[attr-defined]

TICK = 0.2  # seconds
TOLD = signal.SIGUSR2  # from the thread to its own process: another rank was told to stop


class Watch:
    """While it is entered, a signal to any rank is heard by all: also where one works alone and the others wait."""

    def __init__(self, rank: int, stop: Stop) -> None:
        self.rank, self.stop, self.met = rank, stop, 0
        self._over, self._heard = threading.Event(), ""
        self._thread: threading.Thread | None = None
        self._last = ((0, 0), time.monotonic())

    def __enter__(self) -> Self:
        self._before = signal.signal(TOLD, self._told)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join(10 * TICK)
        stuck = self._thread is not None and self._thread.is_alive()
        signal.signal(TOLD, signal.SIG_IGN if stuck else self._before)

    def begin(self, store: Store) -> None:
        """Watch over this store."""
        self._thread = threading.Thread(target=self._run, args=[store], daemon=True)
        self._thread.start()

    def alive(self, store: Store, rank: int, wait: float) -> bool:
        """Whether a rank showed signs of life in so many seconds, as far as was asked."""
        seen = self._seen(store, rank)
        if seen != self._last[0]:
            self._last = seen, time.monotonic()
        return time.monotonic() - self._last[1] < wait

    def missing(self, store: Store, size: int, follow: Callable[[], None]) -> list[int]:
        """Who does not live, or else who was not at the last meeting; `follow` ends it sooner where one said why."""
        before = [self._seen(store, rank) for rank in range(size)]
        for _ in range(8):
            follow()
            time.sleep(TICK)
        now = [self._seen(store, rank) for rank in range(size)]
        others = [rank for rank in range(size) if rank != self.rank]
        return [rank for rank in others if before[rank] == now[rank]] or [
            rank for rank in others if now[rank][0] < self.met
        ]

    def _seen(self, store: Store, rank: int) -> tuple[int, int]:
        """At how many meetings a rank was, and its pulse."""
        if not store.check([f"alive/{rank}"]):
            return 0, 0
        met, pulse = store.get(f"alive/{rank}").split()
        return int(met), int(pulse)

    def _run(self, store: Store) -> None:
        pulse, told = 0, False
        while not self._over.wait(TICK):
            pulse += 1
            try:
                store.set(f"alive/{self.rank}", f"{self.met} {pulse}")
                if self.stop.asked and not told:
                    store.compare_set("stop", "", f"{self.stop.asked} to rank {self.rank}")
                    told = True
                elif not told and store.check(["stop"]):
                    self._heard, told = store.get("stop").decode(), True
                    signal.pthread_kill(threading.main_thread().ident or 0, TOLD)
            except RuntimeError:  # the store is gone: the rank itself finds out when it needs it
                return

    def _told(self, _: int, __: FrameType | None) -> None:
        self.stop.ask(self._heard)
