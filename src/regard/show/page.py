"""A page of its own: style, modules and answers in one file that asks no network for anything.

The modules in `static/` are served as they are by `regard serve`. A file opened from a disk may not import others, so
here they are put one after the other, each in a function of its own. The page allows itself nothing (its own
Content-Security-Policy): no request can leave it, whatever text it shows.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from regard.show.ask import Ask
from regard.show.asking import Subject, spoken
from regard.show.steps import of_head
from regard.show.views import OF_A_TEXT
from regard.translate.align import default_layer
from regard.translate.translator import Translator

NUMBERS = 320_000
"""Bytes of a page for the numbers of heads: those of the aligning layer first, then as many as there is room for."""

_IMPORT = re.compile(r'^import (?:\* as (\w+)|\{ ([\w, ]+) \}) from "\./([\w-]+)\.js";\n', re.M)
_EXPORT = re.compile(r"^export ((?:async )?function|const|let|class) (\w+)", re.M)


@dataclass(frozen=True)
class Shown:
    """What a page shows: for each model the answers of views, by name."""

    models: Sequence[Mapping[str, Any]]
    views: Mapping[str, Mapping[str, Any]]
    title: str = ""
    note: str = ""
    text: str = ""
    first: str = "translate"
    """The view that is open at first."""
    more: Mapping[str, Any] = field(default_factory=dict)


def answers(translator: Translator, ask: Ask) -> dict[str, Any]:
    """All views of one text, from one translation and one watched pass."""
    about = Subject(translator, ask)
    found: dict[str, Any] = {"translation": OF_A_TEXT["translation"](about)}
    if not spoken(about.result):
        return found
    found |= {name: OF_A_TEXT[name](about) for name in ("heads", "film", "positions", "beam")}
    found["steps"] = _numbers(about)
    if found["positions"]["table"] is None:
        del found["positions"]
    return {name: answer for name, answer in found.items() if answer}


def _numbers(about: Subject) -> dict[str, Any]:
    """Step tables by `place.layer.head`, as many as there is room for."""
    sightings = about.watched.sightings
    aligning = default_layer(len(about.translator.model.sights()))
    order = sorted(sightings, key=lambda one: not (one.place == "cross" and one.layer == aligning))
    room, found = NUMBERS, dict[str, Any]()
    for head in range(max((len(one.weights) for one in sightings), default=0)):
        for sighting in order:
            if head >= len(sighting.weights):
                continue
            told = of_head(sighting, head, *about.labels(sighting))
            room -= len(json.dumps(told))
            if room < 0 and found:
                return found
            found[f"{sighting.place}.{sighting.layer}.{head}"] = told
    return found


def page(shown: Shown) -> str:
    """The HTML of a page that stands alone."""
    static = _static()
    style = (static / "style.css").read_text(encoding="utf-8")
    script = bundle()
    data = {
        "title": shown.title, "note": shown.note, "text": shown.text, "first": shown.first,
        "models": list(shown.models), "views": shown.views, **shown.more,
    }  # fmt: skip
    policy = f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data:"
    icon = base64.b64encode((static / "icon.svg").read_bytes()).decode()
    html = (static / "index.html").read_text(encoding="utf-8")
    parts = {
        '<meta charset="utf-8">': f'<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" '
        f'content="{policy}">\n<meta name="generator" content="regard">',
        "<title>regard</title>": f"<title>{escape(shown.title)} · regard</title>",
        'href="icon.svg"': f'href="data:image/svg+xml;base64,{icon}"',
        '<link rel="stylesheet" href="style.css">': f"<style>{style}</style>",
        '<script type="module" src="main.js"></script>': '<script type="application/json" id="regard-data">'
        f"{embedded(data)}</script>\n<script>{script}</script>",
    }
    for there, instead in parts.items():
        assert html.count(there) == 1, there
        html = html.replace(there, instead)
    return html


def embedded(data: Any) -> str:
    """JSON that cannot end the element it stands in: no `<`, `>` or `&` in it, as they are escaped."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text.encode("utf-8", "replace").decode()


def _static() -> Traversable:
    return files("regard.show") / "static"


@cache
def bundle() -> str:
    """All modules that `main.js` needs as one script: each a function that gives its names, after those it needs."""
    done: dict[str, str] = {}

    def add(name: str) -> None:
        text = (_static() / f"{name}.js").read_text(encoding="utf-8")
        for _, _, needed in _IMPORT.findall(text):
            if needed not in done:
                add(needed)
        exports = [match[1] for match in _EXPORT.findall(text)]
        text = _IMPORT.sub(lambda m: f"const {m[1] or f'{{ {m[2]} }}'} = _{m[3]};\n", text)
        text = _EXPORT.sub(r"\1 \2", text)
        assert not re.search(r"^(import|export) ", text, re.M), f"{name}.js is written in another way"
        done[name] = f"const _{name} = (() => {{\n{text}return {{ {', '.join(exports)} }};\n}})();\n"

    add("main")
    return '"use strict";\n' + "".join(done.values())


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
