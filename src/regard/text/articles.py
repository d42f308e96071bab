"""Texts with their summaries, from files of JSON lines: what is read, and one or more ways to say it shortly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.files import json_object
from regard.text.lines import BadText, lines
from regard.text.words import Text, split_words


@dataclass(frozen=True)
class Article:
    """A text and its summaries, in words."""

    text: Text
    summaries: tuple[Text, ...]


def articles(path: Path, longest: int, longest_summary: int) -> Iterator[Article]:
    """The articles of a file: a line each, an object with `source` and `target`, each a text or a list of texts.

    The sentences of a source are joined; each target is a summary by itself. What is longer is cut, as See et al. do.
    """
    for number, line in enumerate(lines(path), start=1):
        try:
            found = json_object(line)
            source, targets = " ".join(_texts(found, "source")), _texts(found, "target")
        except ValueError as error:
            raise BadText(
                f"{path}:{number}: {error}. Write each line as an object with a source and a target."
            ) from None
        summaries = tuple(summary for text in targets if (summary := split_words(text)[:longest_summary]))
        text = split_words(source)[:longest]
        if text and summaries:
            yield Article(text, summaries)


def _texts(found: dict[str, Any], name: str) -> list[str]:
    """One text or several, as it is written."""
    value = found.get(name)
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"'{name}' is not a text or a list of texts")
    return texts
