"""Hints at the language of a line: its script, and the small words that every sentence needs. A hint, no more."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from functools import cache

# Where scripts begin, as far as they are told apart; None where no letter of interest is.
_STARTS: tuple[tuple[int, str | None], ...] = (
    (0x0000, None),
    (0x0041, "Latin"),
    (0x0370, "Greek"),
    (0x0400, "Cyrillic"),
    (0x0530, "Armenian"),
    (0x0590, "Hebrew"),
    (0x0600, "Arabic"),
    (0x0900, "Devanagari"),
    (0x0980, "Bengali"),
    (0x0A00, "Gurmukhi"),
    (0x0A80, "Gujarati"),
    (0x0B00, "other"),
    (0x0B80, "Tamil"),
    (0x0C00, "Telugu"),
    (0x0C80, "Kannada"),
    (0x0D00, "Malayalam"),
    (0x0D80, "other"),
    (0x0E00, "Thai"),
    (0x0E80, "other"),
    (0x10A0, "Georgian"),
    (0x1100, "Hangul"),
    (0x1200, "Ethiopic"),
    (0x13A0, "other"),
    (0x1E00, "Latin"),
    (0x1F00, "Greek"),
    (0x2000, None),
    (0x2E80, "Han and kana"),
    (0xA000, "other"),
    (0xAC00, "Hangul"),
    (0xD7B0, None),
    (0xF900, "Han and kana"),
    (0xFB50, "Arabic"),
    (0xFE00, None),
    (0x20000, "Han and kana"),
)
_POINTS = [start for start, _ in _STARTS]
_SAMPLE = 50  # characters that are enough to know the script
_LETTER = re.compile("[A-Za-z]")

_SMALL_WORDS = {
    "en": "the and of to is that it for with was on are this you have he she they not at from by",
    "de": "der die das und ist nicht ein eine mit den von zu sich auf im dem auch wir sie es einem einer",
    "fr": "le les des et est une dans pour que qui pas sur avec il elle du au ce sont nous vous je",
    "es": "el los las y es una que en para por con no del se lo como su está muy al",
    "it": "il gli di che è per non una con del della sono si ha nel anche un questo mi",
    "pt": "o os as que não uma para com do da em é por dos um se mais está ele eu",
    "nl": "de het een en van is niet dat op te zijn met voor ik aan er ze wordt",
    "sv": "och att det som en är på för med inte av jag till har den ett",
    "da": "og at det er en på ikke til med af jeg som for har den et",
    "no": "og å det er en på ikke til med av jeg som for har den et",
    "pl": "i w nie na jest się do że z to co jak po ale czy dla",
    "cs": "a se v je na že to s z do ne jako si ale jsem by",
    "fi": "ja on ei se että en hän oli ovat mutta kun tämä joka",
    "hu": "a az és hogy nem egy is van ez meg de volt csak",
    "ro": "și în cu nu este pe care mai sunt pentru că fost lui",
    "tr": "ve bir bu da de için ile ne çok değil var mi ben",
    "ru": "и в не на что с он как это по но я она был",
    "uk": "і в не на що з він як це та я до але є",
}
_LANGUAGES: dict[str, list[str]] = {}
for _language, _words in _SMALL_WORDS.items():
    for _word in _words.split():
        _LANGUAGES.setdefault(_word, []).append(_language)

_SCRIPTS = {"Cyrillic": "ru uk be bg sr mk kk", "Greek": "el", "Hebrew": "he yi", "Arabic": "ar fa ur ps"}
_SCRIPTS |= {"Han and kana": "zh ja", "Hangul": "ko", "Thai": "th", "Devanagari": "hi mr ne", "Georgian": "ka"}
_SCRIPTS |= {
    "Armenian": "hy",
    "Latin": "en de fr es it pt nl sv da no nb nn pl cs fi hu ro tr et lv lt sk sl hr vi id",
}
SCRIPT_OF = {language: script for script, languages in _SCRIPTS.items() for language in languages.split()}
"""The script a language is written in, where there is one."""


def script(text: str) -> str | None:
    """The script of most letters; None where there are none."""
    if text.isascii():
        return "Latin" if _LETTER.search(text) else None
    counts = Counter(map(_of_letter, text[:_SAMPLE]))
    counts.pop(None, None)
    return counts.most_common(1)[0][0] if counts else None


@cache
def _of_letter(character: str) -> str | None:
    return _STARTS[bisect_right(_POINTS, ord(character)) - 1][1] if character.isalpha() else None


def small_words(text: str) -> dict[str, int]:
    """How many small words of each language a line has."""
    hits: dict[str, int] = {}
    for word in set(text.lower().split()) & _LANGUAGES.keys():
        for found in _LANGUAGES[word]:
            hits[found] = hits.get(found, 0) + 1
    return hits


def language(text: str) -> str | None:
    """The language whose small words a line has, if it has three of them, and twice as many as of any other."""
    hits = small_words(text)
    best = max(hits, key=lambda found: hits[found], default=None)
    if best is None or hits[best] < 3 or any(2 * hits[other] > hits[best] for other in hits if other != best):
        return None
    return best
