"""What the documents say is run: their Python in order, and the tests they name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from regard.systems import SYSTEMS

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_snippets_run(page: Path) -> None:
    """All Python blocks of a page, as one program; what it registers is gone afterwards."""
    known = dict(SYSTEMS)
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    try:
        exec(compile("\n".join(blocks), str(page), "exec"), {"__name__": page.stem})
    finally:
        SYSTEMS.clear()
        SYSTEMS.update(known)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_and_pictures_exist(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_named_tests_exist(page: Path) -> None:
    for path, test in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page.read_text(encoding="utf-8")):
        assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), f"{page.name} names {path}::{test}"
