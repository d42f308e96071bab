"""A mechanism by name, for a place in a model: from the catalogue, or from a file of one's own."""

from __future__ import annotations

import difflib
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

from torch import nn

from regard.attend import papers, score
from regard.attend.addressing import Turing
from regard.attend.heads import Heads, Pooling
from regard.attend.maps import Linear
from regard.attend.mechanism import Attention, Mechanism
from regard.attend.select import (
    Competition,
    Gumbel,
    Hard,
    LocalP,
    Select,
    Softmax,
    Sparsemax,
    StraightThrough,
    TopK,
)


def topk(count: int = 4) -> TopK:
    """Softmax over the best few, as many as `gupta` unless said."""
    return TopK(count)


SELECTIONS: dict[str, Callable[..., Select]] = {
    "softmax": Softmax,
    "sparsemax": Sparsemax,
    "topk": topk,
    "hard": Hard,
    "gumbel": Gumbel,
    "straight_through": StraightThrough,
    "local_p": LocalP,
    "turing": Turing,
    "competition": Competition,
}


# Parts that do not ask for the weights of earlier steps; a part that is not among them is given those.
UNMINDFUL: tuple[type[nn.Module], ...] = (
    score.Dot, score.ScaledDot, score.General, score.Mapped, score.Cosine, score.Additive, score.Concat,
    score.LinearConcat, score.Leaky, score.Location, score.Kernel, Softmax, Sparsemax, TopK,
    Hard, Gumbel, StraightThrough, LocalP,
)  # fmt: skip


def mechanism(name: str, select: str | None = None, d_memory: int | None = None, **sizes: object) -> Mechanism:
    """The mechanism of that name, given whichever of these sizes it asks for.

    `name` is one of the catalogue, or `file.py:function` of one's own, a function that returns a mechanism.
    `select` puts another selection in its place. `d_memory` is the width of what is looked at, where that is not
    `d_model`.
    """
    name = name.strip()
    built = _fitting(_own(name), f"'{name}'", sizes) if ":" in name else _paper(_spelt(name), sizes)
    if isinstance(built, Pooling):
        raise ValueError(
            f"'{name}' asks questions of its own and takes no queries, so it cannot stand here; "
            "try vaswani, bahdanau or luong_general"
        )
    if not isinstance(built, Mechanism):
        raise ValueError(f"'{name}' gave a {type(built).__name__}; it must return an Attention or Heads")
    if isinstance(built, Heads) and d_memory is not None:
        _widen(built, d_memory, name)
    return built if select is None else _selecting(built, select, sizes)


def _paper(name: str, sizes: dict[str, object]) -> Attention | Heads | Pooling:
    """The mechanism of the catalogue; heads are for those that make them of `d_model`."""
    asks = inspect.signature(papers.CATALOGUE[name]).parameters if name in papers.CATALOGUE else {}
    return papers.build(name, **{k: v for k, v in sizes.items() if k != "heads" or "d_model" in asks})


def minds_the_past(look: Mechanism) -> bool:
    """Whether some part may ask for the weights of earlier steps; of an unknown mechanism it is assumed."""
    attentions = [module for module in look.modules() if isinstance(module, Attention)]
    return not attentions or any(type(part) not in UNMINDFUL for a in attentions for part in (a.score, a.select))


def _spelt(name: str) -> str:
    """A recipe may write a dash where Python has an underscore."""
    return name.replace("-", "_")


def _own(name: str) -> Callable[..., object]:
    """The function `file.py:function`."""
    place, _, function = name.rpartition(":")
    path = Path(place) if place.endswith(".py") else Path(f"{place}.py")
    if not path.is_file():
        raise ValueError(
            f"there is no file {path} to take the mechanism '{function}' from; "
            "give its place from the folder you are in, as in my_file.py:my_mechanism"
        )
    module = _run(path)
    found: Callable[..., object] | None = getattr(module, function, None)
    if not callable(found):
        own = [name for name, f in vars(module).items() if getattr(f, "__module__", "") == module.__name__]
        raise ValueError(f"{path} has no function '{function}'; it has {_near(function, own) or 'none'}")
    return found


def _run(path: Path) -> ModuleType:
    """The file as a module; a mistake in it is told with its line."""
    module = ModuleType(f"own_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # data classes look their module up
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), vars(module))
    except SyntaxError as error:
        raise ValueError(f"{path}:{error.lineno}: {error.msg}; mend the file and try again") from None
    except Exception as error:
        here = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        raise ValueError(
            f"{path}:{here[-1].lineno if here else 1}: {type(error).__name__}: {error}; mend the file and try again"
        ) from error
    return module


def _selecting(built: Mechanism, select: str, sizes: dict[str, object]) -> Mechanism:
    """The same mechanism with another selection."""
    name = _spelt(select)
    if name not in SELECTIONS:
        raise ValueError(f"there is no selection '{select}'; perhaps you meant {_near(name, SELECTIONS)}")
    attention = built.attention if isinstance(built, Heads) else built
    if not isinstance(attention, Attention):
        raise ValueError(f"a {type(built).__name__} has no selection to replace by '{select}'; leave select out")
    if isinstance(built, Heads):
        sizes = sizes | {"d_query": built.query.out_features // built.heads}
    attention.select = _fitting(SELECTIONS[name], f"selection '{select}'", sizes)  # type: ignore[assignment]
    return built


def _fitting(make: Callable[..., object], what: str, sizes: dict[str, object]) -> object:
    """What `make` makes of those sizes it asks for."""
    given = inspect.signature(make).parameters.items()
    asks = {size: spec for size, spec in given if spec.kind not in (spec.VAR_POSITIONAL, spec.VAR_KEYWORD)}
    missing = [size for size, spec in asks.items() if spec.default is spec.empty and size not in sizes]
    if missing:
        raise ValueError(
            f"{what} asks for {', '.join(missing)}, which is not known here; "
            f"known are {', '.join(sorted(sizes))}: give the others a default"
        )
    return make(**{size: value for size, value in sizes.items() if size in asks})


def _widen(heads: Heads, d_memory: int, name: str) -> None:
    """Let heads look at a memory of another width than the queries'."""
    if heads.key.in_features == d_memory:
        return
    if heads.key is heads.query:
        raise ValueError(
            f"'{name}' uses one map for queries and keys, so both must have one width; "
            f"got {heads.query.in_features} and {d_memory}: try vaswani"
        )
    heads.key, heads.value = _of_width(heads.key, d_memory), _of_width(heads.value, d_memory)


def _of_width(layer: nn.Linear, d_in: int) -> nn.Linear:
    """A fresh map of the same kind, from another width."""
    fresh = Linear(d_in, layer.out_features, bias=layer.bias is not None)
    nn.init.xavier_uniform_(fresh.weight)
    return fresh


def _near(name: str, known: Iterable[str]) -> str:
    return ", ".join(difflib.get_close_matches(name, known, 3) or sorted(known))
