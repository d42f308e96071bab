"""What the tests of translating share."""

from __future__ import annotations

import random
from pathlib import Path

RUN = Path(__file__).parent.parent / "files" / "format-1" / "transformer"

SIGNS = [
    "%1$s", "%d", "%s", "%-5.2f", "%%", "%(name)s", "{name}", "{0}", "{}", "{{x}}", "${var}", "{0:.2f}", "<b>",
    "</b>", "<br/>", '<a href="x">', "&amp;", "&#39;", "&#x2F;", "https://a.bc/d?e=1&f=2", "www.a-b.cd",
    "me.you+x@mail.co.uk",
]  # fmt: skip
NASTY = [
    "\0", "\r", "\t", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\ufeff", "\u2581", "\xa0", "\u200d",
    "\u0301", "</s>", "<pad>", "<s>", "<unk>", "<0x0A>", "日本語。", "！", "👩\u200d👩\u200d👧", "{", "}", "%", "<",
    ">", "&", "@", "...", "  ", " ",
]  # fmt: skip
WORDS = ["one", "two", "red", "dog", "cat", "house", "Dr.", "e.g.", "end.", "why?", "so,"]


def nasty_text(rng: random.Random, most: int = 12) -> str:
    """A line that nobody would write, without line feed."""
    some = rng.choices([*WORDS, *NASTY, *SIGNS], k=rng.randint(0, most))
    return rng.choice(["", " "]).join(some)


def nasty_bytes(rng: random.Random, most: int = 12) -> bytes:
    """The same, sometimes damaged: any bytes but a line feed."""
    text = nasty_text(rng, most).encode()
    if rng.random() < 0.3:
        at = rng.randint(0, len(text))
        text = text[:at] + rng.randbytes(rng.randint(1, 4)) + text[at:]
    return text.replace(b"\n", b"")
