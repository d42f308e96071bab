"""Loads the models once and forks workers: a new one is there in an instant, and shares the weights with all others.

It never multiplies anything itself: a process that has is not safe to fork, as its threads stay behind.
"""

from __future__ import annotations

import gc
import importlib
import mmap
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

from regard.serve.wire import receive, send

FLAGS = 4096
"""Bytes, one for each text of a batch: not 0 if nobody waits for it any more."""
YIELDING = 10
"""How much workers give way: who takes in and refuses requests must not wait for those who multiply."""


def main() -> int:
    """Started by the server, with the number of a socket to it."""
    server = socket.socket(fileno=int(sys.argv[1]))
    message = receive(server)
    if message is None:
        return 0
    asked = message[0]
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # workers that ended need no one to wait for them
    began = time.monotonic()
    try:
        models, views = _loaded(asked)
    except (ValueError, OSError) as error:
        send(server, {"failed": str(error)})
        return 2
    gc.collect()
    gc.freeze()  # what is here is shared, as long as nobody writes to it, and the collector would
    send(server, {"seconds": time.monotonic() - began, "views": sorted(views)})
    while True:
        word, handles, _, _ = socket.recv_fds(server, 1, 2)
        if not word:
            return 0
        if os.fork() == 0:
            _work(server, handles, models, views, asked["threads"])
        for handle in handles:
            os.close(handle)


def _loaded(asked: dict[str, Any]) -> tuple[Any, Any]:
    import torch

    torch.set_num_threads(1)
    from regard.serve import worker  # noqa: F401 (so that it is there in every fork)
    from regard.translate.translator import Translator

    models = {name: Translator.load(Path(run), trust_code=asked["trust_code"]) for name, run in asked["runs"].items()}
    for model in models.values():
        model.speaker.source.threads = model.speaker.target.threads = 1
    module, _, name = asked["views"].partition(":")
    try:
        views = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError:
        views = {}
    return models, views


def _work(nursery: socket.socket, handles: list[int], models: Any, views: Any, threads: int) -> None:
    """In the new process: never comes back."""
    code = 1
    try:
        nursery.close()
        os.nice(YIELDING)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        from regard.serve.worker import work

        with socket.socket(fileno=handles[0]) as server, mmap.mmap(handles[1], FLAGS) as gone:
            work(server, gone, models, views, threads)
        code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
