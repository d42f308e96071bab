"""The catalogue as a page: every mechanism with its paper, formula, parts, cost and picture.

`python -m regard.show.catalogue docs` writes `docs/mechanisms.md`, a picture of each mechanism, and all of them
on one sheet. Nothing here is typed by hand: it is read off the catalogue, so the page cannot say what the code
does not do.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from regard import attend
from regard.attend import papers
from regard.attend.addressing import Shift
from regard.attend.bias import Bias
from regard.attend.efficient import Compression
from regard.attend.memory import Tokens
from regard.attend.scope import Scope, Scoping
from regard.attend.score import Features, Score
from regard.attend.select import Select
from regard.show import draw, example
from regard.show.anatomy import Entry, describe, first_line, signature

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Track = Callable[[list[str]], Iterable[str]]

INTRODUCTION = f"""\
<!-- made by make docs, do not edit -->
# Mechanisms

Every mechanism of `regard.attend.papers`. Each is a line or two that puts [parts](#parts) together:
`papers.bahdanau(d_query=256, d_key=512, d_hidden=128)`, or by name `papers.build("bahdanau", ...)`.

![All mechanisms on one sheet](pictures/catalogue.png)

**How to read the pictures.** The sentence is
*{example.SENTENCE}*.
A row is a word that looks, a column a word that is looked at; the deeper the colour, the larger the weight. White
is a weight of 0, hatched grey is out of scope. Words are vectors of {example.WIDTH} numbers that say nothing of
their place. Each mechanism was taught for {example.STEPS} steps on the same words in other orders: its first head
(blue) to find the same word, its second (orange) to find the word just before. Learned questions look for
*{"*, *".join(example.QUESTIONS)}*. Columns m1, m2, ... are learned tokens, or mixtures of all words.

**What they show, and what not.** On all nine seeds tried, contents alone did not tell which word stands before
(`vaswani` beside `su`, `shaw`, `raffel`, `dai`), and places alone not which words are the same
(`luong_location` beside `bahdanau`). But a lesson is short and a picture is one seed, chosen with the sizes to be
legible: `roy`, `luong_local_p`, `xu_hard` and `kitaev` look different with another. A miss there is no verdict on
the mechanism.
"""

PARTS = (
    ("Scores", "How well a key answers a query.", Score),
    ("Feature maps", "What `Kernel` scores with, so that long memories cost linear time.", Features),
    ("Selections", "From scores to weights.", Select),
    ("Shifts", "How a `Turing` selection moves along its tape.", Shift),
    ("Scopes", "Who may see what: yes-or-no questions about positions, joined by `&`, `|` and `~`.", Scope),
    ("Scopes by contents", "Scopes found by looking at queries and keys.", Scoping),
    ("Biases", "What is added to scores by position.", Bias),
    ("On memory", "What `Heads(on_memory=...)` does to a memory before it is looked at.", Compression),
)
CONSTANT_SCOPES = {
    "everything": "No limit.",
    "causal": "A query sees its own place and what lies before it.",
    "itself": "A query sees its own place only.",
}


def page() -> str:
    """`mechanisms.md`, as text."""
    entries = [describe(name) for name in papers.CATALOGUE]
    families = _families(entries)
    contents = "\n".join(f"- [{title}](#{_anchor(title)})" for title in [*families, "Parts"])
    chapters = "\n".join(_chapter(title, family) for title, family in families.items())
    return f"{INTRODUCTION}\n{contents}\n\n{_summary(entries)}\n{chapters}\n{_parts()}"


def pictures(to: Path, track: Track = iter) -> list[Path]:
    """A picture of each mechanism, and all on one sheet; `track` may show how far it is."""
    draw.new_figure(1, 1)  # nothing to draw with, nowhere to put it: better now than after the work
    to.mkdir(parents=True, exist_ok=True)
    shown: dict[str, example.Shown] = {}
    made = []
    for name in track(list(papers.CATALOGUE)):
        shown[name] = example.run(name)
        made.append(draw.save(picture(shown[name]), to / "mechanisms" / f"{name}.png"))
    return [draw.save(sheet(shown), to / "catalogue.png"), *made]


def picture(shown: example.Shown) -> Figure:
    """One mechanism's weights, its heads side by side."""
    return draw.weights(
        shown.weights, shown.queries, shown.keys, scope=shown.allowed, full=1.0, inks=(draw.BLUE, draw.ORANGE)
    )


def sheet(shown: dict[str, example.Shown], columns: int = 7) -> Figure:
    """All mechanisms on one sheet, the heads of each laid over each other."""
    tile, margin, head, foot = 1.42, 0.24, 0.3, 0.62
    rows = -(-len(shown) // columns)
    width = columns * (tile + margin) + margin
    height = rows * (tile + head + 0.12) + foot + 0.1
    figure = draw.new_figure(width, height)
    for place, (name, one) in enumerate(shown.items()):
        row, column = divmod(place, columns)
        x, y = margin + column * (tile + margin), height - 0.1 - head - row * (tile + head + 0.12)  # top left
        cell = tile / max(one.weights.shape[1:])
        wide, high = one.weights.shape[2] * cell, one.weights.shape[1] * cell
        axes = figure.add_axes((x / width, (y - high) / height, wide / width, high / height))
        draw.paint(axes, one.weights, one.allowed, hatch=False)
        _title(axes, name)
    _key(figure, margin, width, height)
    return figure


def write(to: Path) -> None:
    """The page and its pictures."""
    to.mkdir(parents=True, exist_ok=True)
    (to / "mechanisms.md").write_text(page(), encoding="utf-8")
    pictures(to / "pictures")


def _title(axes: Axes, name: str) -> None:
    year = re.search(r"\b\d{4}\b", first_line(papers.CATALOGUE[name]))
    axes.annotate(name, (0, 1), (0, 4), xycoords="axes fraction", textcoords="offset points", fontsize=8.5,
                  weight="bold", color=draw.INK, annotation_clip=False)  # fmt: skip
    if year and len(name) < 15:
        axes.annotate(year[0], (0, 1), (102, 4), xycoords="axes fraction", textcoords="offset points", fontsize=7.5,
                      ha="right", color=draw.FAINT, annotation_clip=False)  # fmt: skip


def _key(figure: Figure, left: float, width: float, height: float) -> None:
    """What the colours mean, along the foot of the sheet."""
    figure.text(
        left / width, 0.42 / height, f"“{example.SENTENCE}”: a row is a word that looks, a column a word looked at",
        fontsize=9, color=draw.INK,
    )  # fmt: skip
    meanings = (
        (draw.BLUE, "first head: find the same word"),
        (draw.ORANGE, "second head: find the word before"),
        (draw.HIDDEN, "out of scope"),
    )
    for place, (colour, meaning) in enumerate(meanings):
        x = left + 3.0 * place
        box = figure.add_axes((x / width, 0.15 / height, 0.14 / width, 0.14 / height), facecolor=colour)
        box.set(xticks=[], yticks=[])
        box.spines[:].set(color=draw.FAINT, linewidth=0.6)
        figure.text((x + 0.22) / width, 0.165 / height, meaning, fontsize=9, color=draw.INK)


def _families(entries: list[Entry]) -> dict[str, list[Entry]]:
    """Entries by the file their paper is in, whose docstring says what they have in common."""
    families: dict[str, list[Entry]] = {}
    for entry in entries:
        module = sys.modules[papers.CATALOGUE[entry.name].__module__]
        families.setdefault(first_line(module).rstrip("."), []).append(entry)
    return families


def _anchor(title: str) -> str:
    """How GitHub names a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def _summary(entries: list[Entry]) -> str:
    lines = [
        "Cost is per query, over n keys of width d.\n",
        "| mechanism | paper | parts | cost |",
        "|---|---|---|---|",
    ]
    for entry in entries:
        cells = (f"[{entry.name}](#{entry.name})", entry.short, " + ".join(entry.parts), entry.cost)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _chapter(title: str, entries: list[Entry]) -> str:
    return f"## {title}\n\n" + "\n".join(_section(entry) for entry in entries)


def _section(entry: Entry) -> str:
    return f"""\
### {entry.name}

{entry.citation}

![Weights of {entry.name} over the example](pictures/mechanisms/{entry.name}.png)

- Formula: {entry.formula}
- Parts: {" + ".join(f"`{part}`" for part in entry.parts)}
- Build: `papers.{entry.call}`
- Cost: {entry.cost}
"""


def _parts() -> str:
    chapters = ["## Parts\n"]
    for title, purpose, kind in PARTS:
        lines = [f"- `{name}`: {what}" for name, what in _members(kind)]
        chapters.append(f"### {title}\n\n{purpose}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(chapters)


def _members(kind: type) -> list[tuple[str, str]]:
    """The public parts of a kind: how to make one, and what it says of itself."""
    if kind is Scope:
        made = [thing for thing in vars(attend).values() if inspect.isfunction(thing) and _makes_scope(thing)]
        functions = [(thing.__name__ + signature(thing), first_line(thing)) for thing in made]
        return [*CONSTANT_SCOPES.items(), *functions]
    classes = [t for t in vars(attend).values() if inspect.isclass(t) and issubclass(t, kind)]
    if kind is Compression:
        classes.append(Tokens)
    return [(c.__name__ + signature(c), first_line(c)) for c in classes if not inspect.isabstract(c)]


def _makes_scope(function: Callable[..., object]) -> bool:
    return inspect.signature(function).return_annotation in ("Scope", Scope)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m regard.show.catalogue FOLDER")
    write(Path(sys.argv[1]))
