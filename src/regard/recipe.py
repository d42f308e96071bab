"""A recipe: all that a run depends on, as typed settings. TOML files and dotted options become one frozen value.

Every task has its own sections: a new task is a class here and a line in `TASKS`. No torch, so that `--help` answers
at once.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import field, make_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError

import regard.toml as toml
from regard.files import quoted
from regard.models.settings import RecurrentModel, TransformerModel
from regard.search.settings import Search
from regard.settings import Section
from regard.tasks.settings import TextData
from regard.text import places
from regard.train.settings import Train

SHIPPED = Path(__file__).parent / "recipes"


class Recipe(Section):
    """What every recipe has; the other sections are its task's."""

    about: str
    """What it is for, in a sentence or two."""
    task: str
    """What the model is trained for."""
    train: Train = Field(default_factory=Train)

    def sections(self) -> dict[str, Section]:
        """Its sections by name."""
        found = {name: value for name, value in self if isinstance(value, Section)}
        first = [name for name in ("data", "model") if name in found]
        return {name: found[name] for name in [*first, *found]}

    def with_sections(self, sections: Mapping[str, Section]) -> Self:
        """The same recipe with other sections."""
        return self.model_copy(update=dict(sections))

    def toml(self, beside: Path | None = None) -> str:
        """Every value, as TOML that loads back equal; see `dump`."""
        return dump(self, beside)


class TranslationRecipe(Recipe):
    """Text in, text out."""

    task: Literal["translation"] = "translation"
    data: TextData = Field(default_factory=TextData)
    model: TransformerModel | RecurrentModel = Field(default_factory=TransformerModel, discriminator="kind")
    search: Search = Field(default_factory=Search)


TASKS: dict[str, type[Recipe]] = {"translation": TranslationRecipe}

TRAINED_ON = {"source", "target", "pairs", "generated"}  # naming one of these means: other data
HELD_OUT = {f"{split}_{side}" for split in ("valid", "test") for side in ("source", "target", "pairs")}


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
    near = difflib.get_close_matches(name, shipped(), 3, 0.4)
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
    try:
        return TASKS[values["task"]].model_validate(values)
    except ValidationError as error:
        raise ValueError(toml.told(file, error, ("transformer", "recurrent"))) from None


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
    if given_names & {f"__data.{name}" for name in TRAINED_ON}:
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
        return type(section).model_validate({**dict(section), **values})
    except ValidationError as error:
        first = error.errors()[0]
        option = f"--{name}.{'-'.join(str(first['loc'][0]).split('_'))}"
        raise ValueError(
            f"{option}: {first['msg'][0].lower()}{first['msg'][1:]}, not {quoted(first['input'])}"
        ) from None


def without_data(recipe: Recipe) -> Recipe:
    """The recipe without its own files, to be given others."""
    data = recipe.sections()["data"]
    gone = dict.fromkeys((TRAINED_ON | HELD_OUT) & set(type(data).model_fields))
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
    if not isinstance(task, str) or task not in TASKS:
        raise ValueError(f"{toml.at(file, 'task')}: there is no task {quoted(task)}; there are: {', '.join(TASKS)}")
    data = values.get("data")
    if isinstance(data, dict):
        paths = {key for key in TRAINED_ON - {"generated"} | HELD_OUT if isinstance(data.get(key), str)}
        values["data"] = {**data, **{key: _beside(file, data[key]) for key in paths}}
    merged = {name: _onto(name, below.get(name), value) for name, value in values.items()}
    return toml.checked(file, {**below, **merged}, TASKS[task], ["base"])


def _beside(file: Path, path: str) -> str:
    """A path of a recipe file holds for the folder of that file, or for the data folder."""
    found = places.resolved(Path(path))
    try:
        return os.path.abspath(file.parent / found.expanduser()) if _is_plain(found) else path
    except RuntimeError:
        raise ValueError(
            f"{file}: {quoted(path)} names a home folder that is not there; write out the path"
        ) from None


def _onto(name: str, below: Any, values: Any) -> Any:
    """Values over those of a base; another kind of model, or other data, replaces the base's."""
    if not (isinstance(values, dict) and isinstance(below, dict)):
        return values
    if values.get("kind", below.get("kind")) != below.get("kind"):
        return values
    gone = TRAINED_ON | HELD_OUT if name == "data" and TRAINED_ON & set(values) else set()
    return {**{key: kept for key, kept in below.items() if key not in gone}, **values}
