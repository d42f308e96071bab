"""What the tests of dying and stopping share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.train.zygote import Zygote


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote() as started:
        yield started
