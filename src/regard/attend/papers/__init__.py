"""The catalogue: one function per paper, each a line or two of composition, with its citation.

The first line of a docstring is the citation. `Formula:` and `Cost:` lines follow, per query over n keys of
width d; `docs/mechanisms.md` is made from them. Arguments share one alphabet, so a name and some sizes are
enough to build any of them: `build("bahdanau", d_query=256, d_key=512, d_hidden=128)`.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable

from regard.attend.heads import Heads, Pooling
from regard.attend.mechanism import Attention
from regard.attend.papers.efficient import (
    beltagy,
    child,
    choromanski,
    gupta,
    katharopoulos,
    kitaev,
    liu,
    roy,
    wang_linformer,
)
from regard.attend.papers.pooling import conneau, jaegle, lee, locatello, yang
from regard.attend.papers.recurrent import (
    bahdanau,
    cheng,
    content,
    graves,
    jang,
    linear_concat,
    luong_concat,
    luong_dot,
    luong_general,
    luong_local_m,
    luong_local_p,
    luong_location,
    martins,
    see,
    vinyals,
    xu_hard,
    xu_soft,
)
from regard.attend.papers.transformer import (
    ainslie,
    dai,
    press,
    raffel,
    shaw,
    shazeer,
    su,
    sukhbaatar_memory,
    sukhbaatar_span,
    vaswani,
    velickovic,
    wang_nonlocal,
)

Paper = Callable[..., Attention | Heads | Pooling]

CATALOGUE: dict[str, Paper] = {
    paper.__name__: paper
    for paper in (
        bahdanau, luong_dot, luong_general, luong_concat, luong_location, luong_local_m, luong_local_p,
        linear_concat, graves, content, vinyals, see, xu_soft, xu_hard, jang, martins, cheng, yang, conneau, lee,
        vaswani, shazeer, ainslie, su, press, shaw, raffel, dai, sukhbaatar_span, sukhbaatar_memory,
        wang_nonlocal, child, beltagy, katharopoulos, choromanski, wang_linformer, liu, kitaev, roy, gupta,
        velickovic, locatello, jaegle,
    )
}  # fmt: skip


def build(name: str, **sizes: object) -> Attention | Heads | Pooling:
    """The mechanism of that name, given whichever of these sizes it asks for."""
    _known("mechanism", [name], CATALOGUE)
    asks = {paper: inspect.signature(CATALOGUE[paper]).parameters for paper in CATALOGUE}
    _known("size", sizes, {size for parameters in asks.values() for size in parameters})
    missing = [size for size, spec in asks[name].items() if spec.default is spec.empty and size not in sizes]
    if missing:
        raise ValueError(f"mechanism '{name}' also needs {', '.join(missing)}; it asks for {', '.join(asks[name])}")
    return CATALOGUE[name](**{size: value for size, value in sizes.items() if size in asks[name]})


def _known(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 3) or sorted(known)
            raise ValueError(f"there is no {what} '{name}' in the catalogue; perhaps you meant {', '.join(near)}")
