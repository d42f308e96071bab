"""Runs the command line in processes that need not import torch again: they are forked from this one.

An order is a line of JSON: `args` for `regard`, `out` for what it says, and what shall happen to it.
`die_at`: it is killed at this file operation in its run folder. `signal` and `at`: a signal comes in that phase, and
the moment it was sent is written beside `out`. `room`: so many bytes more than now may be mapped. What else there is
to meet stands in trouble.py: `poison`, `full`, `free`.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from tests.forks import Forks
from tests.train import trouble

WRITES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "shutil.rmtree", "shutil.copytree"}


class Zygote(Forks):
    """The test's end of it."""

    module = "tests.train.zygote"

    def start(self, args: list[str], out: Path, **more: object) -> int:
        """Begin; the answer is the process's id."""
        self.order({"args": args, "out": str(out), **more})
        return int(self.heard())

    def end(self) -> int:
        """Wait for the process begun last; its exit code, below 0 if a signal ended it."""
        return int(self.heard())

    def run(self, args: list[str], out: Path, **more: object) -> int:
        """From beginning to end."""
        self.start(args, out, **more)
        return self.end()


def serve() -> None:
    """Fork one process after the other, as ordered."""
    _import_everything()
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _child(order)
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def _import_everything() -> None:
    import matplotlib.figure
    import torch._dynamo  # noqa: F401  the first optimiser imports it, which takes longer than a toy's training

    import regard.commands.finetune
    import regard.commands.options
    import regard.show.curve
    import regard.tasks.translation
    import regard.train.drive  # noqa: F401

    matplotlib.figure.Figure().savefig(os.devnull, format="png")  # finds its fonts


def _child(order: dict[str, Any]) -> NoReturn:
    null = os.open(os.devnull, os.O_RDONLY)
    out = os.open(order["out"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for target, handle in ((0, null), (1, out), (2, out)):
        os.dup2(handle, target)
    from regard.cli import main

    code = 99
    try:
        _disturb(order)
        code = main(order["args"])
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 98
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        if "count" in order:
            Path(order["count"]).write_text(str(_seen), encoding="ascii")
        os._exit(code)


def _disturb(order: dict[str, Any]) -> None:
    """What shall happen to the process."""
    if "die_at" in order or "count" in order:
        _count_writes(order)
    if "signal" in order:
        {**PHASES, **AND}[order["at"]](lambda: _send(getattr(signal, order["signal"]), Path(order["out"] + ".sent")))
    if "poison" in order:
        trouble.poison(**order["poison"])
    if "free" in order:
        trouble.little_room(order["free"])
    if "full" in order:
        trouble.fill_disk(**order["full"])
    if "room" in order:
        now = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + order["room"], now + order["room"]))


def _send(number: int, note: Path) -> None:
    note.write_text(str(time.monotonic()), encoding="ascii")
    os.kill(os.getpid(), number)


_seen = 0


def _count_writes(order: dict[str, Any]) -> None:
    run = order["args"][order["args"].index("--run") + 1]

    def heard(event: str, args: tuple[Any, ...]) -> None:
        global _seen
        writes = event in WRITES or (event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"))
        if not writes or run not in str(args[0]):
            return
        _seen += 1
        if _seen == order.get("die_at"):
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(heard)


Send = Callable[[], None]


def _in_pieces(send: Send) -> None:
    """While another process learns the pieces."""

    def soon() -> None:
        time.sleep(0.02)
        send()

    def heard(event: str, args: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen" and "learn.py" in str(args[1]):
            threading.Thread(target=soon).start()

    sys.addaudithook(heard)


def _before(module: object, name: str, send: Send, call: int = 1) -> None:
    """Send at the start of a call of a function, the first or a later one."""
    real, calls = getattr(module, name), []

    def wrapped(*args: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == call:
            send()
        return real(*args, **options)

    setattr(module, name, wrapped)


def _in_binarising(send: Send) -> None:
    import regard.text.corpus as corpus

    _before(corpus, "_write", send)


def _in_warm_up(send: Send) -> None:
    import regard.tasks.translation as translation

    _before(translation, "sequence_loss", send)


def _in_step(send: Send) -> None:
    import regard.tasks.translation as translation

    _before(translation, "sequence_loss", send, 3)


def _in_validation(send: Send) -> None:
    import regard.tasks.translation as translation

    _before(translation, "translate", send)


def _in_save(send: Send) -> None:
    import regard.train.saves as saves

    _before(saves, "write_tensors", send, 5)  # two at the start, one of the model, then the first validation's save


def _in_the_end(send: Send) -> None:
    import regard.show.curve as curve

    _before(curve, "curve", send)


def _twice_in_a_save(send: Send) -> None:
    import regard.train.saves as saves

    _before(saves, "write_tensors", send, 4)
    _before(saves, "write_tensors", send, 5)


def _twice_in_a_step(send: Send) -> None:
    import regard.tasks.translation as translation
    import regard.train.fit as fit

    _before(translation, "sequence_loss", send, 2)
    _before(fit, "set_rate", send, 2)


def _in_a_validation_and_the_save_after(send: Send) -> None:
    import regard.train.saves as saves

    _in_validation(send)
    _before(saves, "write_tensors", send, 3)


PHASES: dict[str, Callable[[Send], None]] = {
    "pieces": _in_pieces,
    "binarising": _in_binarising,
    "warm-up": _in_warm_up,
    "step": _in_step,
    "validation": _in_validation,
    "save": _in_save,
    "the end": _in_the_end,
}
AND = {
    "twice in a save": _twice_in_a_save,
    "twice in a step": _twice_in_a_step,
    "in a validation and the save after": _in_a_validation_and_the_save_after,
}

if __name__ == "__main__":
    serve()
