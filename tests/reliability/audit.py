"""F7's second half: pip-audit on all that is depended on, tools too. Needs the package index, which knows weaknesses.

Some indexes (mirrors, mostly) have a page for each package but none for each version; there the page of a package,
which tells of its newest version, is read where that is the one installed. What could not be looked up is named;
as with pip-audit itself it does not count against the rest.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import tempfile
import time
import venv
from importlib import metadata
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def check() -> list[Row]:
    """One row: what pip-audit, in an environment of its own, says of what is in this one."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        venv.create(place, with_pip=True)
        python = str(Path(place, "bin", "python"))
        subprocess.run([python, "-m", "pip", "install", "--quiet", "pip-audit"], check=True)
        asked = json.dumps(sorted(needed("regard").items()))
        done = subprocess.run([python, __file__], input=asked, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    reached = f"{found['looked']} looked up, {len(found['known'])} known"
    if found["known"]:
        reached += f": {', '.join(found['known'])}"
    if found["skipped"]:
        reached += f"; not told of by the index: {', '.join(map(' '.join, found['skipped']))}"
    return [{"id": "F7 audit", "what": "pip-audit of all that is depended on", "goal": "0 known", "reached": reached,
             "passed": found["looked"] > 0 and not found["known"],
             "seconds": round(time.monotonic() - began, 1)}]  # fmt: skip


def needed(name: str, found: dict[str, str] | None = None) -> dict[str, str]:
    """Versions of all that regard needs, extras and all, and of what that needs, as installed here."""
    own, found = found is None, {} if found is None else found
    for asked in metadata.requires(name) or ():
        if "extra ==" in asked and not own:
            continue
        word = re.match(r"[\w.-]+", asked)
        assert word is not None
        other = re.sub(r"[-_.]+", "-", word[0]).lower()
        if other not in found:
            with contextlib.suppress(metadata.PackageNotFoundError):  # for another system
                found[other] = metadata.version(other)
                needed(other, found)
    return found


def audit(packages: list[tuple[str, str]]) -> dict[str, Any]:
    """By pip-audit, as a library."""
    from packaging.version import Version
    from pip_audit._service import PyPIService, ResolvedDependency

    service = PyPIService()
    ask = service.session.get

    def or_newest(url: str, **how: Any) -> Any:
        answer = ask(url, **how)
        if answer.status_code != 404:
            return answer
        start, version, _ = url.rsplit("/", 2)
        page = ask(f"{start}/json", **how)
        return page if page.ok and page.json()["info"]["version"] == version else answer

    service.session.get = or_newest
    found: dict[str, Any] = {"looked": 0, "known": [], "skipped": []}
    for name, version in packages:
        answered, weaknesses = service.query(ResolvedDependency(name, Version(version)))
        if answered.is_skipped():
            found["skipped"].append((name, version))
            continue
        found["looked"] += 1
        found["known"] += [f"{name} {version}: {one.id}, mended in {list(map(str, one.fix_versions))}"
                           for one in weaknesses]  # fmt: skip
    return found


if __name__ == "__main__":
    print(json.dumps(audit(json.load(sys.stdin))))
