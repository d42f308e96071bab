"""What can be asked, field by field: checked by the same models that the OpenAPI document is made from."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model

from regard.serve.languages import Languages
from regard.serve.problem import Problem
from regard.serve.settings import Limits
from regard.show.ask import Ask, whole

SAID = r"[^\s\x1c-\x1f\x85\ufeff]"
"""What a term must have: something that is no space, neither to Python nor to a reader of the schema (ECMA-262)."""


class Asked:
    """The forms of requests that a server with these limits and languages takes."""

    def __init__(self, limits: Limits, languages: Languages) -> None:
        self.limits, self.languages = limits, languages
        text: Any = Annotated[str, Field(max_length=limits.characters)]
        texts: Any = Annotated[list[text], Field(max_length=limits.texts)]
        key: Any = Annotated[str, Field(max_length=200, description="Where keys are needed; or as a Bearer token.")]
        loose = ConfigDict(extra="ignore", strict=True)
        paired = ConfigDict(extra="ignore", strict=True, json_schema_extra=self._pairs)
        exact = ConfigDict(extra="forbid", strict=True, json_schema_extra=self._seen, regex_engine="python-re")
        self.translate = create_model("Translate", __config__=paired, **self._translate(text, texts, key))
        self.detect = create_model("Detect", __config__=loose, q=(text, ...), api_key=(key, ""))
        self.own = create_model("OwnTranslate", __config__=exact, **self._own(texts), api_key=(key, ""))
        self.view = create_model("View", __base__=Ask, **self._view(), api_key=(key, ""))

    def _view(self) -> dict[str, Any]:
        """As pages ask, of a server's models and within its limits."""
        models, most = tuple(pair.id for pair in self.languages.pairs), self.limits.view_characters
        return {
            "text": (str, Field(max_length=most)),
            "model": (Literal[models] | None, Field(None, description="The first, if none is named.")),
            "prefix": (str, Field("", max_length=most, description="How the translation begins.")),
        }

    def _translate(self, text: Any, texts: Any, key: Any) -> dict[str, Any]:
        """As LibreTranslate has it."""
        return {
            "q": (text | texts, Field(description="A text, or several.")),
            "source": (str, Field(description="Its language, or auto.")),
            "target": (str, Field(description="The language to translate to.")),
            "format": (Literal["text", "html"], Field("text", description="html keeps tags.")),
            "alternatives": (
                Annotated[int, BeforeValidator(whole)],
                Field(0, ge=0, lt=self.limits.beam, description="Others to answer too."),
            ),
            "api_key": (key, ""),
        }

    def _own(self, texts: Any) -> dict[str, Any]:
        """With all that a translator can be asked."""
        limits, models = self.limits, tuple(pair.id for pair in self.languages.pairs)
        term: Any = Annotated[str, Field(max_length=limits.term_characters, pattern=SAID)]
        beam: Any = Annotated[int, Field(ge=1, le=limits.beam), BeforeValidator(whole)]
        return {
            "texts": (texts, Field(min_length=1, max_length=limits.texts, description="In one language.")),
            "model": (Literal[models], models[0]),
            "nbest": (beam, Field(1, description="Translations of each text.")),
            "beam": (beam | None, Field(None, description="At least nbest; null is the run's.")),
            "length_penalty": (Annotated[float, Field(ge=-10, le=10)] | None, None),
            "alignment": (bool, Field(False, description="Word links, source to target.")),
            "attention": (bool, Field(False, description="All weights: few and short texts only.")),
            "keep_placeholders": (bool, Field(False, description="%s, {name}, tags and addresses stay.")),
            "keep_numbers": (bool, Field(False, description="Numbers too.")),
            "glossary": (
                dict[term, term],
                Field({}, max_length=limits.terms, description="Terms and what they must become."),
            ),
            "prefix": (str, Field("", max_length=limits.seen_characters, description="How all begin.")),
            "deadline": (float, Field(limits.seconds, gt=0, le=limits.seconds, description="Seconds; then 504.")),
            "stream": (bool, Field(False, description="An event for each text as it is done.")),
        }

    def _pairs(self, schema: dict[str, Any]) -> None:
        """Which languages go together."""
        schema["anyOf"] = [
            {"properties": {"source": {"const": source}, "target": {"const": target}}}
            for source, target in self.languages.possible()
        ]
        codes = (*self.languages.all, "auto")
        schema["properties"]["source"]["enum"] = [code for code in codes if code in dict(self.languages.possible())]
        schema["properties"]["target"]["enum"] = list(self.languages.all)

    def _seen(self, schema: dict[str, Any]) -> None:
        """Attention is for a few short texts."""
        short = {"maxItems": self.limits.seen_texts, "items": {"maxLength": self.limits.seen_characters}}
        asked = {"properties": {"attention": {"const": True}}, "required": ["attention"]}
        schema["allOf"] = [{"if": asked, "then": {"properties": {"texts": short}}}]
        term = {"type": "string", "maxLength": self.limits.term_characters, "pattern": SAID}
        terms = {key: value for key, value in schema["properties"]["glossary"].items() if key != "patternProperties"}
        schema["properties"]["glossary"] = {**terms, "propertyNames": term, "additionalProperties": term}


def checked(form: type[BaseModel], given: dict[str, Any], status: int) -> Any:
    """What was asked for, or what is wrong with it, without repeating it."""
    try:
        return form.model_validate(given)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        first = next((one for one in found if not one["type"].endswith("_type")), found[0])  # of a text or several
        at = ".".join(str(part) for part in first["loc"] if isinstance(part, int) or part in form.model_fields)
        message = first["msg"].removeprefix("Value error, ")
        raise Problem(status, f"{at}: {message}" if at else message, "form") from None
