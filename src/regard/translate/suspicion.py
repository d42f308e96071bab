"""What to be wary of in a translation, and how its parts are put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from regard.translate.glossary import Glossary
from regard.translate.result import Part, Result
from regard.translate.speaker import Spoken
from regard.translate.split import no_spaces

COPIED = 4  # words from which on the source, said again, is no name or number


def joined(text: str, parts: Sequence[Part]) -> tuple[Part, ...]:
    """Parts whose texts can be put together as they are.

    What stands between them is the source's own; where that had no space because its script has none, and the
    translation's has, one is put in.
    """
    found = list(parts)
    for at, (one, other) in enumerate(pairwise(parts)):
        seam = text[one.end - 1 : one.end]
        glued = one.text[-1:].strip() and other.text[:1].strip() and one.tokens and other.tokens
        if glued and no_spaces(seam) and not no_spaces(one.text[-1]) and not no_spaces(other.text[0]):
            found[at] = replace(one, text=one.text + " ")
    return tuple(found)


def suspicions(result: Result, said: Sequence[Spoken], glossary: Glossary | None) -> tuple[str, ...]:
    """Each thing to be wary of once, worst first; docs/translating.md says what they mean."""
    found = [note for spoken in said for note in spoken.notes]
    tried = [spoken.hypothesis for spoken in said if spoken.hypothesis is not None]
    if any(one.repeats for one in tried):
        found.append("repetition")
    if not result.complete:
        found.append("limit")
    if any(not one.words for one in tried):
        found.append("empty")
    if len(result.words) >= COPIED and result.words == result.source_words:
        found.append("copied")
    if glossary is not None and any(target not in result.text for _, target in glossary.found(result.source)):
        found.append("glossary")
    return tuple(dict.fromkeys(found))
