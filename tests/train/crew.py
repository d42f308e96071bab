"""Several ranks at once, in processes forked from one that has imported everything; see zygote.py.

An order is a list, one entry per rank: `args` for `regard` and `out` for what it says, or `call` ("module:function")
and what it is `given`. `signal`, `at` and `to`: when this rank is in that phase, that rank gets a signal.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any, NoReturn, Self

from tests.forks import Forks
from tests.train.zygote import PHASES, _child, _import_everything


class Crew(Forks):
    """The test's end of it."""

    module, environment = "tests.train.crew", {"OMP_NUM_THREADS": "1"}

    def __enter__(self) -> Self:
        super().__enter__()
        assert self.heard() == []  # it has imported what it needs, so that tests measure no import
        return self

    def start(self, orders: list[dict[str, Any]]) -> list[int]:
        """Begin; the answer is each process's id."""
        self.order(orders)
        return self._codes()

    def end(self) -> list[int]:
        """Wait for those begun last: their exit codes."""
        return self._codes()

    def run(self, orders: list[dict[str, Any]]) -> list[int]:
        """From beginning to end."""
        self.start(orders)
        return self.end()

    def train(self, size: int, args: list[str], out: Path, **first: object) -> list[int]:
        """One `regard train` of so many ranks; `first` is for rank 0 alone."""
        same: dict[str, Any] = {"args": args, "out": str(out)}
        return self.run([{**same, **(first if rank == 0 else {})} for rank in range(size)])

    def call(self, size: int, function: str, out: Path, **given: object) -> list[int]:
        """The same function on every rank."""
        return self.run([{"call": function, "given": given, "out": str(out)}] * size)

    def _codes(self) -> list[int]:
        found: list[int] = self.heard()
        return found


def serve() -> None:
    """Fork all ranks of one order after the other."""
    _import_everything()
    import torch.distributed.fsdp
    import torch.distributed.tensor  # noqa: F401

    print("[]", flush=True)
    for line in sys.stdin:
        orders = json.loads(line)
        port, pids = free_port(), Path(f"{orders[0]['out']}.pids")
        pids.unlink(missing_ok=True)
        found = []
        for rank, order in enumerate(orders):
            pid = os.fork()
            if pid == 0:
                _rank({"pids": str(pids), **order}, environment(rank, len(orders), port))
            found.append(pid)
        beside = pids.with_suffix(".new")
        beside.write_text(json.dumps(found), encoding="ascii")
        beside.replace(pids)
        print(json.dumps(found), flush=True)
        print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in found]), flush=True)
    os._exit(0)  # taking all of torch down in order takes seconds


def free_port() -> int:
    """One that nobody listens at now."""
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return int(some.getsockname()[1])


def environment(rank: int, size: int, port: int) -> dict[str, str]:
    """What torchrun would set; one alone has nothing."""
    if size == 1:
        return {}
    return {
        "RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(size),
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
    }  # fmt: skip


def _rank(order: dict[str, Any], named: dict[str, str]) -> NoReturn:
    os.environ.update(named)
    if "signal" in order:
        number, to = getattr(signal, order.pop("signal")), order.pop("to")
        PHASES[order.pop("at")](lambda: os.kill(_pids(order)[to], number))
    if "args" in order:
        _child(order)
    code = 99
    try:
        handle = os.open(order["out"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        module, _, name = order["call"].partition(":")
        getattr(importlib.import_module(module), name)(**order["given"])
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _pids(order: dict[str, Any]) -> list[int]:
    file = Path(order["pids"])
    while not file.exists():
        time.sleep(0.01)
    found: list[int] = json.loads(file.read_text(encoding="ascii"))
    return found


if __name__ == "__main__":
    serve()
