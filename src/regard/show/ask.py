"""What can be asked of a view, checked. Nothing here needs torch: the server checks requests without it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

MOST_TEXT = 5000
"""Characters; a page of more could not be read."""


def whole(number: Any) -> Any:
    """1.0 is a whole number in JSON."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


Whole = Annotated[int, BeforeValidator(whole)]


class Ask(BaseModel):
    """A request; what is left out has a sensible value."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    text: str = Field(max_length=MOST_TEXT)
    model: str | None = None
    # Of these two the bounds stand before the validator: the schema of what may be null has none otherwise.
    nbest: Annotated[int, Field(ge=1, le=10), BeforeValidator(whole)] | None = Field(
        None, description="Alternatives; without it as many as the run's beam finds anyway, up to five."
    )
    beam: Annotated[int, Field(ge=1, le=16), BeforeValidator(whole)] | None = Field(
        None, description="At least nbest; null is the run's."
    )
    candidate: Whole = Field(0, ge=0, le=9, description="Which of the alternatives to look into.")
    part: Whole = Field(0, ge=0, description="Which part of a text that was cut.")
    place: Literal["encoder", "decoder", "cross"] = "cross"
    layer: Whole = Field(0, ge=0)
    head: Whole = Field(0, ge=0)
    prefix: str = Field("", max_length=MOST_TEXT, description="How the translation begins.")


class NothingThere(ValueError):
    """A good request for what is not there: another layer, another alternative, the looks of an empty text."""


def asked(body: Mapping[str, Any]) -> Ask:
    """The request, or ValueError with one sentence on what is wrong with it."""
    try:
        return Ask(**{str(key): value for key, value in body.items()})
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{name}: {first['msg']}") from None
