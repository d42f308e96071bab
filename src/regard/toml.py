"""Settings as TOML: read with errors that name file, line and the right word; written to read back equal."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from regard.files import plain_bytes, quoted, shallow, shown
from regard.settings import Section

LONGEST = 64 * 2**10  # bytes of a file
DEEPEST = 4  # levels: sections, settings, lists
DOTS = 64  # in a line


def parse(file: Path) -> dict[str, Any]:
    """The values of a file."""
    text = _text(file)
    try:
        found = tomllib.loads(text)
        shallow(found, DEEPEST)
        return found
    except tomllib.TOMLDecodeError as error:
        line = re.search(r" \(at line (\d+).*\)", str(error))
        what = str(error).replace(line[0] if line else "", "")
        raise ValueError(f"{file}{':' + line[1] if line else ''}: not TOML: {what}; mend that line") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; brackets in brackets
        why = "it is nested too deeply" if isinstance(error, RecursionError) else shown(str(error))
        raise ValueError(f"{file}: not a recipe: {why}; a recipe has sections, and settings in them") from None


def _text(file: Path) -> str:
    """The text of a file. A long key takes the parser a time that grows with its square, so none may be long."""
    try:
        text = plain_bytes(file, LONGEST).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{file}: not UTF-8; save the recipe as UTF-8 text") from None
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > DOTS:
            raise ValueError(f"{file}:{number}: more than {DOTS} dots in a line; write what it says in several lines")
    return text


def written(value: object) -> str:
    """One value as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | Path):
        return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, tuple | list):
        return f"[{', '.join(written(item) for item in value)}]"
    return repr(value)


def checked(
    file: Path, values: Mapping[str, Any], settings: type[Section], besides: Sequence[str] = ()
) -> dict[str, Any]:
    """The values, with each section's kind said; an error for the first name that is no setting, with the nearest."""
    sections = {name: kinds(info.annotation) for name, info in settings.model_fields.items()}
    said = dict(values)
    for name, value in values.items():
        if name not in sections:
            what = f"[{shown(name)}]" if isinstance(value, dict) else f"'{shown(name)}'"
            raise ValueError(f"{at(file, name)}: there is no {what}; {_meant(name, [*sections, *besides])}")
        if sections[name] and isinstance(value, dict):
            first = _kind(sections[name][0])
            said[name] = value if first is None else {"kind": first, **value}
            _refuse_unknown(file, name, said[name], sections)
    return said


def at(file: Path, *keys: str) -> str:
    """file:line of a key, as far as the text shows it."""
    lines = file.read_text(encoding="utf-8-sig").split("\n")
    found = -1
    for key in keys:
        name = re.compile(rf"\s*(\[\s*{re.escape(key)}\s*\]|{re.escape(key)}\s*=)")
        following = (n for n in range(found + 1, len(lines)) if name.match(lines[n]))
        found = next(following, len(lines))
    return f"{file}:{found + 1}" if 0 <= found < len(lines) else str(file)


def told(file: Path, error: ValidationError, kinds: Sequence[str] = ()) -> str:
    """The first thing that is wrong with the values, as a sentence."""
    first = error.errors()[0]
    keys = [str(part) for part in first["loc"] if part not in kinds]
    message = first["msg"][0].lower() + first["msg"][1:]
    given = "" if first["type"] == "missing" else f", not {quoted(first['input'])}"
    return f"{at(file, *keys[:2])}: {'.'.join(keys)}: {message}{given}"


def _refuse_unknown(
    file: Path, name: str, values: Mapping[str, Any], sections: Mapping[str, Sequence[type[Section]]]
) -> None:
    by_kind = {_kind(part): part for part in sections[name]}
    kind = values.get("kind")
    section = by_kind.get(kind) if isinstance(kind, str | None) else None
    if section is None:
        there = ", ".join(map(str, by_kind))
        raise ValueError(f"{at(file, name, 'kind')}: [{name}] has no kind {quoted(kind)}; there are: {there}")
    for key in values:
        if key not in section.model_fields:
            others = (s for s, parts in sections.items() if s != name and any(key in p.model_fields for p in parts))
            other = next(others, None)
            meant = f"it belongs to [{other}]" if other else _meant(key, list(section.model_fields))
            raise ValueError(f"{at(file, name, key)}: [{name}] has no '{shown(key)}'; {meant}")


def kinds(annotation: Any) -> list[type[Section]]:
    """The section classes of a field: one, or one per kind."""
    options = getattr(annotation, "__args__", (annotation,))
    return [option for option in options if isinstance(option, type) and issubclass(option, Section)]


def names_of_kinds(settings: type[Section]) -> list[str]:
    """What the sections of these settings can be, where there is a choice."""
    found = [_kind(section) for info in settings.model_fields.values() for section in kinds(info.annotation)]
    return [kind for kind in found if kind is not None]


def _kind(section: type[Section]) -> Any:
    return section.model_fields["kind"].default if "kind" in section.model_fields else None


def _meant(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, 1, 0.5)
    return f"perhaps you meant {near[0]}" if near else f"there are: {', '.join(known)}"
