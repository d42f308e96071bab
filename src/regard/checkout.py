"""Which code runs: its version, and its commit where it runs from a checkout."""

from __future__ import annotations

import subprocess
from pathlib import Path

from regard import __version__

HERE = Path(__file__).parent


def version() -> str:
    """Such as 0.1.0, or 0.1.0 (commit 1a2b3c4)."""
    found = commit()
    return f"{__version__} (commit {found})" if found else __version__


def commit(folder: Path = HERE) -> str:
    """Of the package's code, and whether it differs from it; nothing where it is installed.

    A package that is installed somewhere inside another project's checkout is no part of it.
    """
    if not _told(folder, "ls-files", "--", "__init__.py"):
        return ""
    found = _told(folder, "rev-parse", "--short", "HEAD")
    return f"{found} with changes in src" if _told(folder, "status", "--porcelain", "--", ".") else found


def _told(folder: Path, *asked: str) -> str:
    """What git says in this folder; nothing where it fails or is not there."""
    try:
        done = subprocess.run(["git", *asked], cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
