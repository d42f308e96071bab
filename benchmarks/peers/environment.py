"""An environment for every peer, made once and kept, and the process in it that trains when told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CONSTRAINTS = (HERE.parents[1] / "constraints.txt").read_text(encoding="utf-8").splitlines()
TORCH = next(
    line for line in CONSTRAINTS if line.startswith("torch==")
)  # the same for all; of the rest each has its own


class Unavailable(Exception):
    """A peer that cannot take part, and why."""


@dataclass(frozen=True)
class Entrant:
    """Who takes part: a name, the script of its process, and what it needs; nothing: this very environment."""

    name: str
    script: str
    needs: Sequence[str] = ()


def python_of(entrant: Entrant, folder: Path) -> str:
    """The interpreter with what an entrant needs, installed on first use with our torch."""
    if not entrant.needs:
        return sys.executable
    home = folder / entrant.name.lower()
    ready, wanted = home / "ready.txt", "\n".join([TORCH, *entrant.needs])
    python = str(home / ("Scripts" if os.name == "nt" else "bin") / "python")
    if ready.exists() and ready.read_text(encoding="utf-8") == wanted:
        return python
    print(f"installing {entrant.name} into {home}", flush=True)
    _install([sys.executable, "-m", "venv", str(home)])
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _install([*pip, TORCH, "numpy", *entrant.needs])
    ready.write_text(wanted, encoding="utf-8")
    return python


def _install(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        last = [line for line in done.stderr.splitlines() if line.strip()][-1:]
        raise Unavailable(f"cannot be installed: {' '.join(last) or f'exit code {done.returncode}'}")


class Worker:
    """The process of one entrant. It works only between a question and its answer."""

    def __init__(self, entrant: Entrant, python: str, environment: dict[str, str], log: Path) -> None:
        self.name = entrant.name
        self._log = log.open("w", encoding="utf-8")
        self._process = subprocess.Popen(
            [python, str(HERE / entrant.script)],
            env=os.environ | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def ask(self, **question: Any) -> dict[str, Any]:
        """Its answer; if it fails or is gone, Unavailable says why."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            log = Path(self._log.name).name  # not its whole path: this is told in the results
            raise Unavailable(f"its process ended with {self._process.wait()}; see {log} where peers are installed")
        told: dict[str, Any] = json.loads(answer)
        if "error" in told:
            raise Unavailable(told["error"])
        return told

    def close(self) -> None:
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):  # of one that is gone already
                self._process.stdin.close()
        self._process.wait()
        self._log.close()
