"""Several processes train one model: who they are, and what they tell each other. One process alone pays nothing.

Each is a *rank*. Numbers and gradients go through collectives (gloo; NCCL for what lies on an accelerator), words
through the store that `torchrun` keeps: a rank that waits there can still hear a signal. Words are JSON, no pickle.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from regard.train.signals import Stop, Stopped
from regard.train.watch import Watch

if TYPE_CHECKING:
    from torch import Tensor

WORD = 2048  # bytes of one rank's word in an exchange
BUCKET = 2**24  # numbers that are summed at a time
TRY = 5.0  # seconds of one try to reach the store
LOOK = 0.02  # seconds between two looks for a word
PARTING = 5.0  # seconds that the rank which keeps the store waits for the others to be gone
NEEDED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


class RankLost(Exception):
    """A rank is gone or did not come; what was saved is whole."""


class RankFailed(ValueError):
    """Another rank ended with an error."""


@dataclass(frozen=True)
class Ranks:
    """This process among all: `Ranks()` is one alone."""

    rank: int = 0
    size: int = 1
    beside: int = 1
    """Ranks on this machine."""
    again: bool = False
    """Started again by torchrun, after one was lost."""
    group: Group | None = None

    @classmethod
    def named(cls, environment: Mapping[str, str] = os.environ) -> Ranks:
        """As torchrun says it, not joined yet."""
        again = int(environment.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0
        if not all(environment.get(name) for name in NEEDED) or int(environment["WORLD_SIZE"]) < 2:
            return cls(again=again)
        beside = int(environment.get("LOCAL_WORLD_SIZE", "1"))
        return cls(int(environment["RANK"]), int(environment["WORLD_SIZE"]), beside, again)

    @property
    def first(self) -> bool:
        """Whether this is the rank that prepares, validates, logs and writes."""
        return self.rank == 0

    @property
    def told(self) -> str:
        """For people; nothing of one alone."""
        return f"{self.size} ranks of " if self.size > 1 else ""

    @contextmanager
    def joined(self, stop: Stop, wait: float, device: str = "cpu") -> Iterator[Ranks]:
        """All ranks together; whoever leaves with an error, or is told to stop, takes the others along."""
        if self.size == 1:
            yield self
            return
        with Watch(self.rank, stop) as watch:
            group = Group(self, watch, wait)
            try:
                group.meet(device)
                yield replace(self, group=group)
            except BaseException as error:
                group.leave(error)
                raise
            group.leave(None)

    def gather(self, word: Any) -> list[Any]:
        """What each rank says, in their order: something small that JSON can hold."""
        return [word] if self.group is None else self.group.gather(word)

    def tell(self, word: Any = None) -> Any:
        """The first rank's word, for all; the others wait for it, however long its work takes."""
        return word if self.group is None else self.group.tell(word)

    def add(self, tensors: Sequence[Tensor]) -> None:
        """Each becomes its sum over the ranks."""
        if self.group is not None:
            self.group.add(tensors)

    def copy(self, tensors: Sequence[Tensor]) -> None:
        """Each becomes what it is on the first rank."""
        if self.group is not None:
            self.group.copy(tensors)


ALONE = Ranks()


class Group:
    """The connection between ranks."""

    def __init__(self, ranks: Ranks, watch: Watch, wait: float) -> None:
        from torch.distributed import PrefixStore  # type: ignore[attr-defined]

        self.ranks, self.watch, self.wait, self.told = ranks, watch, wait, 0
        agents = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"  # then torchrun itself keeps the store
        self.keeps = ranks.first and not agents
        self.store = PrefixStore(f"regard/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", self._connected())

    def meet(self, device: str) -> None:
        """Wait for all ranks, and connect with them."""
        import torch.distributed as dist
        from torch.distributed import PrefixStore  # type: ignore[attr-defined]

        self._all_are_here()
        self.watch.begin(self.store)
        with self._meeting():
            dist.init_process_group(
                "gloo" if device == "cpu" else "cpu:gloo,cuda:nccl", store=PrefixStore("torch", self.store),
                rank=self.ranks.rank, world_size=self.ranks.size, timeout=timedelta(seconds=self.wait),
            )  # fmt: skip

    def _connected(self) -> Any:
        """A connection to the store; short tries, so that a signal is heard between them."""
        from torch.distributed import TCPStore  # type: ignore[attr-defined]

        host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        until = time.monotonic() + self.wait
        while True:
            most = timedelta(seconds=max(1.0, min(TRY, until - time.monotonic())))
            try:
                store = TCPStore(
                    host, port, is_master=self.keeps, timeout=most, wait_for_workers=False, multi_tenant=True
                )
            except RuntimeError as error:
                self._not_stopped()
                if time.monotonic() > until:
                    where = f"{host}:{port} within {self.wait:.0f} s"
                    raise RankLost(f"rank 0 cannot be reached at {where} ({_first_line(error)})") from None
                continue
            store.set_timeout(timedelta(seconds=self.wait))
            return store

    def gather(self, word: Any) -> list[Any]:
        import torch
        import torch.distributed as dist

        data = json.dumps(word).encode()
        if len(data) > WORD:
            raise ValueError(f"ranks exchange words of {WORD} bytes at most; this one has {len(data)}")
        mine = torch.frombuffer(bytearray(data.ljust(WORD)), dtype=torch.uint8)
        every = [torch.empty_like(mine) for _ in range(self.ranks.size)]
        with self._meeting():
            dist.all_gather(every, mine)
        return [json.loads(bytes(each.tolist())) for each in every]

    def tell(self, word: Any) -> Any:
        key, self.told = f"told/{self.told}", self.told + 1
        if self.ranks.first:
            self.store.set(key, json.dumps(word))
            return word
        with self._store_is_there():
            while not self.store.check([key]):
                self._somebody_left()
                if not self.watch.alive(self.store, 0, self.wait):
                    raise RankLost(f"rank 0 showed no sign of life for {self.wait:.0f} s")
                time.sleep(LOOK)
            return json.loads(self.store.get(key))

    def add(self, tensors: Sequence[Tensor]) -> None:
        import torch
        import torch.distributed as dist

        for some in _buckets(tensors):
            flat = torch.cat([tensor.reshape(-1) for tensor in some])
            with self._meeting():
                dist.all_reduce(flat)
            for tensor, part in zip(some, flat.split([tensor.numel() for tensor in some]), strict=True):
                tensor.copy_(part.view_as(tensor))

    def copy(self, tensors: Sequence[Tensor]) -> None:
        import torch.distributed as dist

        for tensor in tensors:
            with self._meeting():
                dist.broadcast(tensor, 0)

    def leave(self, error: BaseException | None) -> None:
        """Say why, close the connections that others may be waiting at, and let them go first who need the store."""
        import torch.distributed as dist

        with suppress(RuntimeError):
            if error is not None:
                stopped = str(error) if isinstance(error, Stopped) else None
                why = {"rank": self.ranks.rank, "stopped": stopped, "error": f"{type(error).__name__}: {error}"}
                self.store.compare_set("left", "", json.dumps(why))
            if dist.is_initialized():
                dist.destroy_process_group()
            self.store.set(f"gone/{self.ranks.rank}", "")
            others = [f"gone/{rank}" for rank in range(1, self.ranks.size) if self.store.check([f"here/{rank}"])]
            until = time.monotonic() + PARTING
            while self.keeps and time.monotonic() < until and not self.store.check(others):
                time.sleep(LOOK)

    def _all_are_here(self) -> None:
        """Wait for every rank, so that one that is missing can be named."""
        with self._store_is_there():
            self.store.set(f"here/{self.ranks.rank}", "")
            until = time.monotonic() + self.wait
            while not self.store.check([f"here/{rank}" for rank in range(self.ranks.size)]):
                if time.monotonic() > until:
                    missing = [rank for rank in range(self.ranks.size) if not self.store.check([f"here/{rank}"])]
                    raise RankLost(f"{_those(missing)} did not come within {self.wait:.0f} s")
                self._not_stopped()
                self._somebody_left()
                time.sleep(LOOK)

    def _not_stopped(self) -> None:
        """While nothing is begun, a signal is obeyed at once."""
        if self.watch.stop.asked:
            raise Stopped(self.watch.stop.asked)

    def _somebody_left(self) -> None:
        """Follow a rank that stopped or failed."""
        if not self.store.check(["left"]):
            return
        why = json.loads(self.store.get("left"))
        if why["stopped"] is not None:
            raise Stopped(f"{why['stopped']} to rank {why['rank']}")
        raise RankFailed(f"rank {why['rank']} ended with {why['error']}")

    @contextmanager
    def _store_is_there(self) -> Iterator[None]:
        """The store ends with rank 0, or with torchrun."""
        try:
            yield
        except RuntimeError as error:
            raise RankLost(f"rank 0 is gone ({_first_line(error)})") from None

    @contextmanager
    def _meeting(self) -> Iterator[None]:
        """What all ranks do together; where that fails, the error says who is missing."""
        self.watch.met += 1
        try:
            yield
        except RuntimeError as error:
            with self._store_is_there():
                missing = self.watch.missing(self.store, self.ranks.size, self._somebody_left)
            raise RankLost(f"{_those(missing)} did not come ({_first_line(error)})") from None


def _buckets(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Tensors of one kind together, up to a size."""
    some: list[Tensor] = []
    for tensor in tensors:
        if some and (tensor.dtype != some[0].dtype or sum(other.numel() for other in some) > BUCKET):
            yield some
            some = []
        some.append(tensor)
    if some:
        yield some


def _those(ranks: Sequence[int]) -> str:
    named = ", ".join(map(str, ranks))
    return f"rank {named}" if len(ranks) == 1 else f"ranks {named}" if ranks else "another rank"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
