"""TensorBoard, where it is installed: the same lines as the log. Its trouble is never the run's."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any


class Board:
    """Writes numbers for TensorBoard into a folder, or nowhere."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: Any = None

    def add(self, line: Mapping[str, Any]) -> None:
        """One line of the log: each number in it is a point of a curve."""
        writer = self._opened()
        if writer is None:
            return
        with suppress(OSError):
            for name, value in {**line, **line.get("valid", {})}.items():
                if isinstance(value, int | float) and name != "step":
                    writer.add_scalar(f"valid/{name}" if "valid" in line else f"train/{name}", value, line["step"])
            writer.flush()

    def _opened(self) -> Any:
        if self._writer is None:
            try:
                from torch.utils.tensorboard import SummaryWriter

                self._writer = SummaryWriter(str(self._folder))
            except (ImportError, OSError):
                return None
        return self._writer
