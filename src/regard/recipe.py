"""Recipes: TOML files and dotted options become one frozen value. No torch, so that `--help` answers at once.

Every system has its own sections; see `regard.systems`.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import field, make_dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import ValidationError

import regard.toml as toml
from regard.files import quoted
from regard.settings import Data, Section
from regard.systems import SYSTEMS, recipe_of
from regard.systems.system import Recipe
from regard.text import places

SHIPPED = Path(__file__).parent / "recipes"


def shipped() -> list[str]:
    """Names of the recipes in the package."""
    return sorted(file.stem for file in SHIPPED.glob("*.toml"))


def file_of(name_or_path: str | Path) -> Path:
    """The file of a shipped name, or the file itself."""
    name, file = str(name_or_path), Path(name_or_path)
    if name in shipped():
        return SHIPPED / f"{name}.toml"
    if file.is_file():
        return file
    if file.suffix == ".toml" or len(file.parts) > 1:
        raise ValueError(f"{file} is not there; a recipe is a TOML file, or one of those `regard recipes list` shows")
    near = difflib.get_close_matches(name, shipped(), 3, 0.5)
    meant = f"perhaps you meant {' or '.join(near)}" if near else "`regard recipes list` shows those there are"
    raise ValueError(f"there is no recipe '{name}'; {meant}")


def load(name_or_path: str | Path) -> Recipe:
    """A recipe by its shipped name or from a TOML file; an unknown key is an error that names the right one."""
    return _load(file_of(name_or_path))


def of_run(folder: Path, trust_code: bool = False) -> Recipe:
    """The recipe of a run, which somebody else may have made: it reads no other file, and names no code to be run.

    With `trust_code` it may name a mechanism as file.py:function, whose file is run when the model is built.
    """
    file = folder / "recipe.toml"
    if "base" in toml.parse(file):
        raise ValueError(f"{toml.at(file, 'base')}: the recipe of a run has no base; copy the run as it was made")
    recipe = _load(file)
    for name, value in code_of(recipe).items() if not trust_code else ():
        raise ValueError(
            f"{toml.at(file, *name.split('.'))}: {name} = {quoted(value)} would run the code in that file; "
            "if you know what it does, allow it with trust_code=True, or --trust-code"
        )
    return recipe


def code_of(recipe: Recipe) -> dict[str, str]:
    """Settings that name a function in a file of one's own: building the model runs that file."""
    return {f"model.{key}": v for key, v in recipe.sections().get("model", ()) if isinstance(v, str) and ":" in v}


def _load(file: Path) -> Recipe:
    values = _values(file, ())
    recipe = recipe_of(values["task"])
    try:
        return recipe.model_validate(values)
    except ValidationError as error:
        raise ValueError(toml.told(file, error, toml.names_of_kinds(recipe))) from None


def dump(recipe: Recipe, beside: Path | None = None) -> str:
    """Every value of a recipe as TOML that loads back equal.

    Files under a data folder are written as `$REGARD_DATA/...`; with `beside`, others relative to that folder, where
    the text will lie.
    """
    lines = [f"{name} = {toml.written(value)}" for name, value in recipe if not isinstance(value, Section)]
    for name, section in recipe.sections().items():
        values = {key: _portable(value, beside) for key, value in section if value is not None}
        lines += ["", f"[{name}]", *(f"{key} = {toml.written(value)}" for key, value in values.items())]
    return "\n".join(lines) + "\n"


def chosen_for(pairs: int) -> str:
    """Which sizes suit so many pairs, where no recipe is named: too large a model learns a small corpus by heart."""
    if pairs < 200_000:
        return "transformer-mini" if pairs < 10_000 else "transformer-tiny"
    return "transformer-small" if pairs < 2_000_000 else "transformer-base"


def located(recipe: Recipe) -> Recipe:
    """The same recipe with every file of its data found; ValueError says which is not there."""
    data = recipe.sections()["data"]
    found = {}
    for key, value in data:
        if isinstance(value, Path):
            try:
                found[key] = places.located(value)
            except ValueError as error:
                raise ValueError(f"data.{key}: {error}") from None
    return recipe.with_sections({"data": data.model_copy(update=found)})


def with_overrides(recipe: Recipe, args: Sequence[str]) -> Recipe:
    """The recipe changed by options such as `--train.steps 300`."""
    return asked(recipe, args)[0]


def asked(
    recipe: Recipe,
    args: Sequence[str],
    more: Sequence[tuple[str, Any, Any]] = (),
    without: Sequence[str] = (),
    **told: str,
) -> tuple[Recipe, Any]:
    """The recipe changed by options, and what was given for `more` fields (name, type, dataclass field) of a command.

    A misspelt option ends the program with the right name beside it; `--help` shows this recipe's values. Sections
    named in `without` cannot be changed.
    """
    import tyro

    given_names = {arg.split("=")[0].replace("-", "_") for arg in args if arg.startswith("--data.")}
    if given_names & {f"__data.{name}" for name in _data(recipe).trained_on}:
        recipe = without_data(recipe)
    sections = {name: part for name, part in recipe.sections().items() if name not in without}
    fields = [*more, *((name, (kind := _options(part)), field(default=kind())) for name, part in sections.items())]
    command = make_dataclass("Command", fields, kw_only=True, frozen=True)
    args = ["--help"] if {"-h", "--help"} & set(args) else list(args)  # tyro hides what stands before it
    given: Any = tyro.cli(command, args=args, **told)  # type: ignore[call-overload]
    changed = {name: _absolute(_changed(name, part, vars(getattr(given, name)))) for name, part in sections.items()}
    return recipe.with_sections(changed), given


def _options(section: Section) -> Any:
    """A section's settings as options, its values as their defaults; `_changed` then checks what is allowed."""
    import tyro

    fields = [
        (key, Annotated[info.annotation, tyro.conf.arg(help=info.description)], field(default=getattr(section, key)))
        for key, info in type(section).model_fields.items()
        if key != "kind"
    ]
    kind = make_dataclass(type(section).__name__, fields, frozen=True)
    kind.__doc__ = type(section).__doc__
    return kind


def _changed(name: str, section: Section, values: Mapping[str, Any]) -> Section:
    try:
        return type(section).model_validate({**dict(iter(section)), **values})
    except ValidationError as error:
        first = error.errors()[0]
        option = f"--{name}.{'-'.join(str(first['loc'][0]).split('_'))}"
        raise ValueError(
            f"{option}: {first['msg'][0].lower()}{first['msg'][1:]}, not {quoted(first['input'])}"
        ) from None


def without_data(recipe: Recipe) -> Recipe:
    """The recipe without its own files, to be given others."""
    data = _data(recipe)
    gone = dict.fromkeys(data.trained_on | data.held_out)
    return recipe.with_sections({"data": data.model_copy(update=gone)})


def _absolute(section: Section) -> Section:
    """Paths of a command line hold for the folder it was typed in."""
    paths = {key: Path(os.path.abspath(value)) for key, value in section if _is_plain(value)}
    return section.model_copy(update=paths)


def _portable(value: object, beside: Path | None) -> object:
    if not isinstance(value, Path):
        return value
    path = places.portable(value)
    return Path(os.path.relpath(path, beside)) if beside is not None and _is_plain(path) else path


def _is_plain(value: object) -> bool:
    return isinstance(value, Path) and value.parts[:1] != (places.HOME,)


def _values(file: Path, inside: tuple[Path, ...]) -> dict[str, Any]:
    """The values of a file on top of those of its base."""
    if file.resolve() in inside:
        raise ValueError(f"{toml.at(file, 'base')}: this recipe is its own base; name another")
    values = toml.parse(file)
    base = values.pop("base", None)
    below: dict[str, Any] = {"task": "translation"}
    if base is not None:
        mine = Path(_beside(file, str(base)))
        below = _values(mine if mine.is_file() else file_of(str(base)), (*inside, file.resolve()))
    task = values.get("task", below["task"])
    if not isinstance(task, str) or task not in SYSTEMS:
        there = ", ".join(SYSTEMS)
        raise ValueError(f"{toml.at(file, 'task')}: there is no task {quoted(task)}; there are: {there}")
    recipe = recipe_of(task)
    section: Any = recipe.model_fields["data"].annotation
    data = values.get("data")
    if isinstance(data, dict):
        paths = {key for key in _paths(section) if isinstance(data.get(key), str)}
        values["data"] = {**data, **{key: _beside(file, data[key]) for key in paths}}
    merged = {
        name: _onto(below.get(name), value, section if name == "data" else Data) for name, value in values.items()
    }
    return toml.checked(file, {**below, **merged}, recipe, ["base"])


def _data(recipe: Recipe) -> Data:
    found = recipe.sections()["data"]
    assert isinstance(found, Data)
    return found


def _paths(section: type[Section]) -> set[str]:
    """Settings that name files."""
    fields = section.model_fields.items()
    return {key for key, info in fields if Path in getattr(info.annotation, "__args__", (info.annotation,))}


def _beside(file: Path, path: str) -> str:
    """A path of a recipe file holds for the folder of that file, or for the data folder."""
    found = places.resolved(Path(path))
    try:
        return os.path.abspath(file.parent / found.expanduser()) if _is_plain(found) else path
    except RuntimeError:
        raise ValueError(
            f"{file}: {quoted(path)} names a home folder that is not there; write out the path"
        ) from None


def _onto(below: Any, values: Any, data: type[Data]) -> Any:
    """Values over those of a base; another kind of model, or other data, replaces the base's."""
    if not (isinstance(values, dict) and isinstance(below, dict)):
        return values
    if values.get("kind", below.get("kind")) != below.get("kind"):
        return values
    gone = data.trained_on | data.held_out if data.trained_on & set(values) else frozenset()
    return {**{key: kept for key, kept in below.items() if key not in gone}, **values}
