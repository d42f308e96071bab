"""Opens folders in processes that may do nothing but read: forked from one that has torch imported already.

An order is a line of JSON with the `folder`; the answer says what `Translator.load` and `regard info` made of it,
what was tried that a reader has no business with, and how much memory it took.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

from tests.forks import Forks

ROOM = 1 << 30  # bytes that may be mapped beyond what is now
SECONDS = 30
FORBIDDEN = {
    "pickle.find_class", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.connect",
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.truncate", "os.link", "os.symlink", "os.chmod",
    "shutil.rmtree", "ctypes.dlopen",
}  # fmt: skip


class Cage(Forks):
    """The test's end of it."""

    module = "tests.files.cage"
    environment = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}  # noqa: RUF012  never changed

    def open(self, folder: Path) -> dict[str, Any]:
        """What came of it: `raised` (name of a class), `value_error`, `said`, `info` (exit code), `told`, `tried`,
        `grown` (bytes); `ended` is the exit code of the process."""
        self.order({"folder": str(folder)})
        answer: dict[str, Any] = self.heard()
        return answer


def serve() -> None:
    """Fork a process for each order."""
    import torch

    torch.set_num_threads(1)
    whole = str(Path(__file__).parent / "format-1" / "transformer")
    _loaded(whole), _informed(whole)  # what is imported when it is first needed is imported now
    for line in sys.stdin:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            _child(json.loads(line)["folder"], writing)
        os.close(writing)
        with open(reading, encoding="utf-8") as pipe:
            answer = json.loads(pipe.read() or "{}")
        print(json.dumps({**answer, "ended": os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}), flush=True)


def _child(folder: str, answer: int) -> NoReturn:
    code = 70
    try:
        signal.alarm(SECONDS)
        room = _pages() * resource.getpagesize() + ROOM
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
        tried: list[str] = []
        before = _kilobytes("VmRSS")
        _watch(folder, tried)
        found = {**_loaded(folder), "grown": (_kilobytes("VmHWM") - before) * 1024, **_informed(folder)}
        os.write(answer, json.dumps({**found, "tried": tried}).encode())
        code = 0
    finally:
        os._exit(code)


def _watch(folder: str, tried: list[str]) -> None:
    def heard(event: str, args: tuple[Any, ...]) -> None:
        writes = event == "open" and (args[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        runs = event in ("compile", "exec", "import") and ("evil" in str(args) or folder in str(args))
        if event in FORBIDDEN or writes or runs:
            tried.append(f"{event} {str(args)[:200]}")

    sys.addaudithook(heard)


def _loaded(folder: str) -> dict[str, Any]:
    from regard.translate.translator import Translator

    try:
        translator = Translator.load(folder)
        said = translator(["one red dog"])[0].text
    except Exception as error:
        return {"raised": type(error).__name__, "value_error": isinstance(error, ValueError), "said": str(error)}
    return {"raised": None, "value_error": False, "said": said}


def _informed(folder: str) -> dict[str, Any]:
    from regard.cli import main

    out = io.StringIO()
    with contextlib.redirect_stderr(out), contextlib.redirect_stdout(io.StringIO()):
        try:
            code: Any = main(["info", folder])
        except SystemExit as ended:
            code = ended.code
        except Exception as error:
            code = type(error).__name__
    return {"info": code, "told": out.getvalue()}


def _pages() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])


def _kilobytes(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1])


if __name__ == "__main__":
    serve()
