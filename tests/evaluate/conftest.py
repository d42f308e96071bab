"""The toy that the tests of translating use."""

from tests.translate.conftest import toy

__all__ = ["toy"]
