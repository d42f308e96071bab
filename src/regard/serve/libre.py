"""The paths of LibreTranslate, in its shapes, so that programs written for it work unchanged."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from regard.serve.asked import checked
from regard.serve.house import House
from regard.serve.languages import AUTO, Guess, name_of
from regard.serve.problem import Problem


async def translate(house: House, request: Request) -> Response:
    """One text or several, to another language."""
    given = await house.body(request)
    if isinstance(given.get("alternatives"), str) and _written(request):
        number = given["alternatives"]
        given["alternatives"] = int(number) if number.isascii() and number.isdigit() and len(number) < 4 else number
    asked = checked(house.asked.translate, given, 400)
    texts = [asked.q] if isinstance(asked.q, str) else asked.q
    guess = _guessed(house, asked.source, asked.target, texts)
    source = asked.source if guess is None else guess.language
    pair = house.languages.pair(source, asked.target)
    if pair is not None:
        found = await _translated(house, request, pair.id, texts, asked)
    elif source == asked.target in house.languages.all:
        found = [{"text": text, "nbest": []} for text in texts]
    else:
        codes = ", ".join(f"{one.source} to {one.target}" for one in house.languages.pairs)
        raise Problem(
            400, f"there is no model from {source[:20]} to {asked.target[:20]}; there is {codes}", "language"
        )
    return JSONResponse(_shaped(asked, found, guess))


def _written(request: Request) -> bool:
    """In a form numbers are text."""
    return not request.headers.get("content-type", "").lower().startswith("application/json")


def _guessed(house: House, source: str, target: str, texts: list[str]) -> Guess | None:
    if source != AUTO:
        return None
    among = [pair.source for pair in house.languages.pairs if pair.target == target]
    if not among:
        raise Problem(400, f"nothing is translated to {target[:20]} here; see /languages", "language")
    best = house.languages.guesses(" ".join(texts)[:2000], among)[0]
    return best if best.language in among else Guess(among[0], 0.0)


async def _translated(
    house: House, request: Request, model: str, texts: list[str], asked: Any
) -> list[dict[str, Any]]:
    if not texts:
        return []
    options = {
        "nbest": 1 + asked.alternatives,
        "attention": False,
        "alignment": False,
        "keep_placeholders": asked.format == "html",
    }
    job = house.job(request, {"model": model, "options": options}, texts)
    return [json.loads(answered.content) for answered in await house.answers(request, job)]


def _shaped(asked: Any, found: list[dict[str, Any]], guess: Guess | None) -> dict[str, Any]:
    """As LibreTranslate answers: lists where a list was asked."""
    others = [[one["text"] for one in result.get("nbest", [])[1:]] for result in found]
    several = isinstance(asked.q, list)
    answer: dict[str, Any] = {"translatedText": [one["text"] for one in found] if several else found[0]["text"]}
    if asked.alternatives:
        answer["alternatives"] = others if several else others[0]
    if guess is not None:
        told = {"confidence": guess.confidence, "language": guess.language}
        answer["detectedLanguage"] = [told] * len(found) if several else told
    return answer


async def detect(house: House, request: Request) -> Response:
    """Which language a text is in, as far as small words and scripts tell."""
    asked = checked(house.asked.detect, await house.body(request), 400)
    found = house.languages.guesses(asked.q, house.languages.all)
    return JSONResponse([{"confidence": one.confidence, "language": one.language} for one in found])


async def languages(house: House, request: Request) -> Response:
    """What can be translated to what."""
    return JSONResponse(house.languages.listed())


async def health(house: House, request: Request) -> Response:
    """Whether the process lives."""
    return JSONResponse({"status": "ok"})


async def settings(house: House, request: Request) -> Response:
    """What a page in front of the server needs to know."""
    first = house.languages.pairs[0]
    return JSONResponse(
        {
            "apiKeys": house.keys is not None,
            "charLimit": house.limits.characters,
            "filesTranslation": False,
            "frontendTimeout": 500,
            "keyRequired": house.keys is not None,
            "language": {
                "source": {"code": first.source, "name": name_of(first.source)},
                "target": {"code": first.target, "name": name_of(first.target)},
            },
            "suggestions": False,
            "supportedFilesFormat": [],
        }
    )
