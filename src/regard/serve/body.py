"""The body of a request as a value: measured before it is read, read once, and never trusted."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

from regard.serve.problem import ClientGone, Problem
from regard.serve.settings import Limits

_FIELDS = 1024
_HALF = re.compile("[\ud800-\udfff]")
_NAME = re.compile(rb'content-disposition:[^\r\n]*\bname="([^"\r\n]{0,64})"(;[^\r\n]*filename)?', re.IGNORECASE)
_BOUNDARY = re.compile(r'boundary="?([^";,\s]{1,70})"?', re.IGNORECASE)


async def read(request: Request, limits: Limits) -> bytes:
    """All of it, if it is small enough and comes in time."""
    too_large = Problem(413, f"the request has more than {limits.body:,} bytes; send it in parts", "body")
    told = request.headers.get("content-length", "0")
    if not told.isascii() or not told.isdigit() or len(told) > 15:
        raise Problem(400, "Content-Length is no number", "body")
    if int(told) > limits.body:
        raise too_large
    if request.headers.get("content-encoding", "identity") != "identity":
        raise Problem(415, "compressed requests are not read; send it as it is", "type")
    found = bytearray()
    try:
        async with asyncio.timeout(limits.body_seconds):
            while True:
                message = await request.receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                found += message.get("body", b"")
                if len(found) > limits.body:
                    raise too_large
                if not message.get("more_body"):
                    return bytes(found)
    except TimeoutError:
        raise Problem(408, f"the request did not come within {limits.body_seconds:g} s", "body") from None


def value(content: bytes, kind: str, limits: Limits) -> dict[str, Any]:
    """The object that a body holds: JSON, or the fields of a form, where numbers are written as text."""
    media = kind.partition(";")[0].strip().lower()
    if media == "application/json":
        return of_json(content, limits)
    if media == "application/x-www-form-urlencoded":
        return _of_pairs(_form(content))
    boundary = _BOUNDARY.search(kind)
    if media == "multipart/form-data" and boundary is not None:
        return _of_pairs(_parts(content, boundary[1].encode("latin-1", "replace")))
    raise Problem(
        415, "send application/json, application/x-www-form-urlencoded or multipart/form-data as Content-Type", "type"
    )


def of_json(content: bytes, limits: Limits) -> dict[str, Any]:
    """An object of JSON that is not too deep."""
    deep = Problem(400, f"the JSON is nested more than {limits.depth} levels deep", "depth")
    try:
        found = json.loads(content.decode("utf-8"), parse_constant=_refuse)
    except UnicodeDecodeError:
        raise Problem(400, "the request is not UTF-8", "json") from None
    except RecursionError:
        raise deep from None
    except ValueError:
        raise Problem(400, "the request is not JSON", "json") from None
    if not isinstance(found, dict):
        raise Problem(400, "the request is JSON, but no object", "json")
    halves = b"\\ud" in content or b"\\uD" in content  # or none can be in it
    level: list[Any] = [found]
    for _ in range(limits.depth):
        inner = [v for one in level for v in (one.values() if isinstance(one, dict) else one)]
        level = [one for one in inner if isinstance(one, dict | list)]
        if not level:
            return mended(found) if halves else found
    raise deep


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _form(content: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(content.decode("ascii"), True, errors="strict", max_num_fields=_FIELDS)
    except ValueError:
        raise Problem(400, "the form is not UTF-8 in %-encoding, or has too many fields", "form") from None


def _parts(content: bytes, boundary: bytes) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for part in (b"\r\n" + content).split(b"\r\n--" + boundary)[1:]:
        if part.startswith(b"--"):
            return found
        head, apart, said = part.partition(b"\r\n\r\n")
        name = _NAME.search(head)
        if not apart or name is None or name[2] or len(found) >= _FIELDS:
            raise Problem(400, "the form is not one of plain fields", "form")
        try:
            found.append((name[1].decode(), said.decode()))
        except UnicodeDecodeError:
            raise Problem(400, "the form is not UTF-8", "form") from None
    raise Problem(400, "the form is cut short", "form")


def _of_pairs(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """A field that is there more than once is a list."""
    found: dict[str, Any] = {}
    for name, said in pairs:
        if name not in found:
            found[name] = said
        elif isinstance(found[name], list):
            found[name].append(said)
        else:
            found[name] = [found[name], said]
    return found


def mended(given: Any) -> Any:
    """A value in which every text is one that UTF-8 can hold: half of a surrogate pair becomes U+FFFD."""
    if isinstance(given, str):
        return _HALF.sub("\ufffd", given)
    if isinstance(given, list):
        return [mended(one) for one in given]
    if isinstance(given, dict):
        return {mended(name): mended(one) for name, one in given.items()}
    return given
