"""Floors of the package: each imports those below it only, files stay short, and importing is quick."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import regard

PACKAGE = Path(regard.__file__).parent
FLOORS = [
    {"checkout", "files", "heatmap", "settings"},
    {"toml"},
    {"attend", "text", "vision"},
    {"models"},
    {"search"},
    {"tasks"},
    {"train"},
    {"systems"},
    {"recipe"},
    {"translate"},
    {"evaluate"},
    {"show"},
    {"serve", "studies", "export"},
    {"commands"},
    {"cli"},
    {"__main__"},
]
LEVEL = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
FILES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports(path: Path) -> set[str]:
    """Rooms that a file imports, wherever in the file it does."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide which floor they come from"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("regard.")} & set(LEVEL)


@pytest.mark.parametrize("path", [f for f in FILES if f.parent != PACKAGE or f.stem in LEVEL], ids=lambda p: p.name)
def test_a_floor_imports_only_those_below_it(path: Path) -> None:
    room = room_of(path)
    assert room in LEVEL, f"{path.name}: say on which floor '{room}' is"
    wrong = {other for other in imports(path) if other != room and LEVEL[other] >= LEVEL[room]}
    assert not wrong, f"{path.name} on the floor of '{room}' imports {wrong}"


def test_files_stay_short() -> None:
    long = {f.name: lines for f in FILES if (lines := f.read_text(encoding="utf-8").count("\n")) > 320}
    assert not long, f"split these: {long}"


def test_import_is_quick_and_help_needs_no_torch() -> None:
    """Beyond torch's own import the package takes under 0.3 s of the processor (best of three)."""
    code = "import time, torch; t = time.process_time(); import regard.attend; print(time.process_time() - t)"
    times = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(3)
    ]
    assert min(times) < 0.3
    light = "import sys, regard; assert 'torch' not in sys.modules; regard.Attention; assert 'torch' in sys.modules"
    subprocess.run([sys.executable, "-c", light], check=True)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Atention'"):
        regard.Atention  # noqa: B018
    assert "Attention" in dir(regard)
