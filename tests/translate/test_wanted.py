"""A text that nobody waits for is given up and says so; the others are as ever."""

from __future__ import annotations

import pytest

from regard.translate.translator import Translator

TEXTS = ["one red dog", "two %1$s cats {name}", "red house " * 9]


@pytest.mark.parametrize(
    "options", [{}, {"keep_placeholders": True}, {"glossary": {"dog": "Wolf", "cats": "W"}}, {"alignment": True}]
)
def test_a_text_is_given_up_alone(toy: Translator, options: dict[str, object]) -> None:
    usual = toy(TEXTS, **options)
    for gone in range(3):
        found = toy(TEXTS, wanted=[lambda n=n, gone=gone: n != gone for n in range(3)], **options)  # type: ignore[misc]
        assert "given up" in found[gone].suspect
        assert found[gone].text == TEXTS[gone]
        for n in range(3):
            if n != gone:
                assert found[n] == usual[n]
