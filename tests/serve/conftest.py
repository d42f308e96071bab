"""A server without models, quick to start, for all that happens before and after decoding; and one with a toy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from regard.serve.run import Serving
from regard.serve.settings import Processes
from tests.serve.running import TOY, Running, running
from tests.serve.stubs import Crew


@pytest.fixture(scope="session")
def fake() -> Iterator[Running]:
    with running(Serving([TOY]), Crew()) as server:
        yield server


@pytest.fixture(scope="session")
def real() -> Iterator[Running]:
    with running(Serving([TOY], processes=Processes(1, 1, views="tests.serve.stubs:VIEWS"))) as server:
        yield server
