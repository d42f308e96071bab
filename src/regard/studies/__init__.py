"""Claims put to the test, each by one command: `regard study NAME`.

A new study is a module here with `main(arguments)`, and a line below. One that is a grid of settings and seeds is a
`Study` (`grid.py`), which brings table, numbers, figure and resuming with it.
"""

from __future__ import annotations

STUDIES = {
    "scores": "the nine score functions on three tasks, with what each costs and what it looks at",
    "hard": "hard attention against soft: how noisy the policy gradient is, with and without a baseline",
    "retrieval": "attention as a look-up: when it is the nearest neighbour",
    "bottleneck": "how well a sentence is translated by its length, with and without attention",
    "luong": "Luong's ladder at toy size: attention, input feeding, windows, dropout",
    "local": "whether the windows of local attention find their place where the order drifts",
    "alignment": "how well attention tells which word came from which",
    "universal": "one layer again and again against layers of their own, at twice the length; what thought costs",
    "copying": "finished runs of pointer-generators: words copied, trigrams repeated: RUN ...",
    "ladder": "finished runs of translators side by side, beside published scores: RUN ...",
    "systems": "finished runs of any system as a table with a picture of each: RUN ...",
    "scaling": "what large runs would take, counted and not computed",
}
"""What there is, and what each is about; the module has the same name."""
