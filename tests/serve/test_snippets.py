"""What docs/serving.md shows is run, against a server of the toy."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.serve.running import Running

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
ADDRESS = "http://127.0.0.1:5000"


def test_python(real: Running) -> None:
    blocks = re.findall(r"^```py\n(.*?)^```", PAGE, re.M | re.S)
    assert len(blocks) == 2
    for block in blocks:
        assert ADDRESS in block
        exec(compile(block.replace(ADDRESS, real.url), "serving.md", "exec"), {})


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_curl(real: Running) -> None:
    lines = re.findall(r"^curl .*", PAGE, re.M)
    assert len(lines) == 2
    for line in lines:
        told = subprocess.run(
            shlex.split(line.replace(ADDRESS, real.url)), capture_output=True, text=True, check=True
        )
        assert '"translatedText"' in told.stdout or '"results"' in told.stdout
