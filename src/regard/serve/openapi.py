"""The OpenAPI document: exactly what is taken and answered, with the limits and languages of this server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from regard import __version__
from regard.serve.house import House

Schema = dict[str, Any]
_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number"}
_JSON = "application/json"
_COUNT: Schema = {"type": "integer", "minimum": 0}
_REASONS = {
    400: "Something in the request is wrong; `error` says what.",
    401: "A key is needed.",
    403: "The key is not known.",
    404: "There is no such view, or not what it is asked for: that layer, head, part or alternative, or any word.",
    405: "Another method is needed; see Allow.",
    408: "The request did not come in time.",
    413: "The request is too large.",
    415: "The request has a type that is not read.",
    421: "The name in Host is not served here.",
    422: "The request is well-formed, but cannot be.",
    429: "Too many requests with this key; see Retry-After.",
    500: "Our fault; the `id` is in the log.",
    503: "Too many are waiting, the models are being loaded, or the server is about to end; see Retry-After.",
    504: "It was not done in time.",
}


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _object(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    return {"type": "object", "properties": {**required, **(optional or {})}, "required": list(required)}


_GUESS = _object({"confidence": {"type": "number", "minimum": 0, "maximum": 100}, "language": _TEXT})
_SPOKEN = _object(
    {
        "text": _TEXT,
        "score": {"type": ["number", "null"]},
        "source_tokens": _list(_TEXT),
        "tokens": _list(_TEXT),
        "token_scores": _list(_NUMBER),
        "complete": {"type": "boolean"},
        "suspect": _list(_TEXT),
        "parts": _list(
            _object(
                {"start": _COUNT, "end": _COUNT, "text": _TEXT},
                {
                    "source_tokens": _list(_TEXT),
                    "tokens": _list(_TEXT),
                    "attention": {
                        "description": "Layers, heads, tokens, source_tokens; null if nothing looks at the source.",
                        "type": ["array", "null"],
                        "items": _list(_list(_list({"type": "number", "minimum": 0, "maximum": 1.001}))),
                    },
                },
            )
        ),
    },
    {
        "alignment": _list({**_list(_COUNT), "minItems": 2, "maxItems": 2}),
        "nbest": _list(_object({"text": _TEXT, "score": _NUMBER})),
    },
)
_ERROR = {"$ref": "#/components/schemas/Error"}


def document(house: House, views: tuple[str, ...]) -> Schema:
    """For this server."""
    texts: Schema = {"anyOf": [_TEXT, _list(_TEXT)]}
    translated = _object(
        {"translatedText": texts},
        {
            "alternatives": {"anyOf": [_list(_TEXT), _list(_list(_TEXT))]},
            "detectedLanguage": {"anyOf": [_GUESS, _list(_GUESS)]},
        },
    )
    language = _object({"code": _TEXT, "name": _TEXT, "targets": _list(_TEXT)})
    model = _object({"id": _TEXT, "source": _TEXT, "target": _TEXT, "name": _TEXT})
    own = _object({"id": _TEXT, "model": _TEXT, "results": _list(_SPOKEN)})
    forms = (_JSON, "application/x-www-form-urlencoded")
    asked, keyed = house.asked, house.keys is not None
    paths = {
        "/translate": _post("Translate", asked.translate.model_json_schema(), forms, translated, keyed),
        "/detect": _post("Guess the language", asked.detect.model_json_schema(), forms, _list(_GUESS), keyed),
        "/languages": _get("What can be translated to what", _list(language)),
        "/health": _get("Whether the process lives", _object({"status": {"const": "ok"}})),
        "/frontend/settings": _get("For a page in front of the server", {"type": "object"}),
        "/ready": _get("Whether it has translated something", _object({"status": {"const": "ready"}}), (503,)),
        "/v1/models": _get("The models that are served", _list(model)),
        "/v1/translate": _own(asked.own.model_json_schema(), own, keyed),
        "/metrics": _metrics(keyed),
        **{f"/v1/views/{name}": _view(name, asked.view.model_json_schema(), keyed) for name in views},
    }
    found: Schema = {
        "openapi": "3.1.0",
        "info": {
            "title": "regard",
            "version": __version__,
            "description": "Translation with what was looked at. /translate, /detect, /languages, /health and "
            "/frontend/settings have the shapes of LibreTranslate.",
        },
        "paths": paths,
        "components": {"schemas": {"Error": _object({"error": _TEXT, "id": _TEXT})}},
    }
    if keyed:
        found["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    return found


def _answers(good: Schema, statuses: tuple[int, ...]) -> Schema:
    bad = {
        str(status): {
            "description": _REASONS[status],
            "content": {"application/json": {"schema": _ERROR}},
            **({"headers": {"Retry-After": {"schema": {"type": "string"}}}} if status in (429, 503) else {}),
        }
        for status in sorted((*statuses, 405, 421, 500))
    }
    return {"200": good, **bad}


def _json(schema: Schema) -> Schema:
    return {"description": "Here it is.", "content": {"application/json": {"schema": schema}}}


def _get(summary: str, schema: Schema, statuses: tuple[int, ...] = ()) -> Schema:
    return {"get": {"summary": summary, "responses": _answers(_json(schema), (*statuses, 503))}}


def _post(summary: str, form: Schema, kinds: tuple[str, ...], answer: Schema, keyed: bool) -> Schema:
    content = {kind: {"schema": form if kind == _JSON else _as_form(form)} for kind in kinds}
    own = (400, 408, 413, 415, 422, 503, 504)
    return {
        "post": {
            "summary": summary,
            "requestBody": {"required": True, "content": content},
            "responses": _answers(_json(answer), (*own, 401, 403, 429) if keyed else (*own, 429)),
            **({"security": [{"key": []}]} if keyed else {}),
        }
    }


def _as_form(schema: Schema) -> Schema:
    """A list without members cannot be written as fields."""
    found: Schema = json.loads(json.dumps(schema))
    for choice in found["properties"]["q"].get("anyOf", ()):
        if choice["type"] == "array":
            choice["minItems"] = 1
    return found


def _own(form: Schema, answer: Schema, keyed: bool) -> Schema:
    found = _post("Translate, with all there is to know", form, ("application/json",), answer, keyed)
    good = found["post"]["responses"]["200"]
    event = _object({"event": {"enum": ["result", "done", "error"]}, "data": _TEXT})
    good["content"]["text/event-stream"] = {"schema": event}
    return found


def _view(name: str, form: Schema, keyed: bool) -> Schema:
    found = _post(f"What the page shows as {name}", form, ("application/json",), {"type": "object"}, keyed)
    found["post"]["responses"]["404"] = {**found["post"]["responses"]["400"], "description": _REASONS[404]}
    return found


def _metrics(keyed: bool) -> Schema:
    good = {"description": "Counts.", "content": {"text/plain": {"schema": _TEXT}}}
    statuses = (401, 403, 429, 503) if keyed else (503,)
    return {
        "get": {
            "summary": "For Prometheus",
            "responses": _answers(good, statuses),
            **({"security": [{"key": []}]} if keyed else {}),
        }
    }
