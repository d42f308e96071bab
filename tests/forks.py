"""A process that has everything imported and forks: tests give it orders, lines of JSON, and hear its answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Self


class Forks:
    """The test's end of it; whoever inherits says which `module` is run, and what may be ordered."""

    module: str
    environment: dict[str, str] = {}  # noqa: RUF012  never changed

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", self.module], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            cwd=Path(__file__).parents[1], env=os.environ | self.environment,
        )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(30)

    def order(self, order: Any) -> None:
        """Give an order."""
        assert self._process.stdin is not None
        print(json.dumps(order), file=self._process.stdin, flush=True)

    def heard(self) -> Any:
        """The next answer."""
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())
