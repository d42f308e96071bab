"""Which code runs: its commit is told, and nobody else's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from regard import __version__, checkout


def git(folder: Path, *asked: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *asked]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A checkout with a package in it."""
    package = tmp_path / "src" / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (tmp_path / "other.txt").write_text("")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    return package


def test_a_checkout_tells_its_commit_and_whether_the_package_differs(repository: Path) -> None:
    name = git(repository, "rev-parse", "--short", "HEAD")
    assert checkout.commit(repository) == name
    (repository.parent.parent / "other.txt").write_text("not of the package")
    assert checkout.commit(repository) == name
    (repository / "__init__.py").write_text("x = 1")
    assert checkout.commit(repository) == f"{name} with changes in src"


def test_a_package_installed_within_another_checkout_is_no_part_of_it(repository: Path, tmp_path: Path) -> None:
    installed = tmp_path / ".venv" / "package"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    assert checkout.commit(installed) == ""


def test_where_there_is_no_git_there_is_no_commit(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert checkout.commit(repository) == ""


@pytest.mark.parametrize(("commit", "told"), [("", __version__), ("1a2b3c4", f"{__version__} (commit 1a2b3c4)")])
def test_a_version_has_the_commit_where_there_is_one(monkeypatch: pytest.MonkeyPatch, commit: str, told: str) -> None:
    monkeypatch.setattr(checkout, "commit", lambda: commit)
    assert checkout.version() == told
