"""What may be sent: every text has a longest length and no control characters, every document a depth and a size."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Path, Query
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
)

# Control characters have no business in names, and a zero byte cannot be stored at all.
_LINE = r"^[^\x00-\x1f\x7f]*$"
TEXT = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*$"
_DEEPEST, _LARGEST = 20, 50_000

Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=_LINE)]
Line = Annotated[str, StringConstraints(max_length=300, pattern=_LINE)]
Text = Annotated[str, StringConstraints(max_length=20_000, pattern=TEXT)]
Slug = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$")]
Id = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
ProductRef = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]

ProductPath = Annotated[ProductRef, Path(description="The name of a product, or its id.")]
IdPath = Annotated[Id, Path(description="An id: 32 hexadecimal digits.")]


def _written_out(text: Any) -> Any:
    """Not seconds since 1970, which the library would take as well."""
    if isinstance(text, str) and not re.match(r"\d{4}-\d{2}-\d{2}[Tt ]", text):
        raise ValueError("a moment is written like 2026-03-01T12:00:00Z")
    return text


Moment = Annotated[AwareDatetime, BeforeValidator(_written_out)]

PageSize = Annotated[int, Query(ge=1, le=200, description="The most items of a page.")]
Cursor = Annotated[
    str | None,
    Query(
        max_length=1000, pattern=r"^[A-Za-z0-9_-]*$", description="`next` of the page before; nothing for the first."
    ),
]


def _checked(content: Any) -> Any:
    """A document of bounded size without what JSON or a database cannot hold.

    >>> _checked({"k": 5})
    {'k': 5}
    >>> _checked({"k": float("nan")})
    Traceback (most recent call last):
        ...
    ValueError: a number is not finite
    """
    waiting, seen = [(content, 0)], 0
    while waiting:
        each, depth = waiting.pop()
        seen += 1
        if depth > _DEEPEST or seen > _LARGEST:
            raise ValueError("the document is too deep or too large")
        if isinstance(each, dict):
            waiting += [(part, depth + 1) for pair in each.items() for part in pair]
        elif isinstance(each, list):
            waiting += [(part, depth + 1) for part in each]
        elif isinstance(each, str):
            if "\x00" in each or any("\ud800" <= character <= "\udfff" for character in each):
                raise ValueError("a text holds a character that cannot be stored")
        elif isinstance(each, float) and not math.isfinite(each):
            raise ValueError("a number is not finite")
        elif isinstance(each, int) and abs(each) >= 2**63:
            raise ValueError("a number is too large")
    return content


Document = Annotated[dict[str, JsonValue], AfterValidator(_checked)]
Anything = Annotated[JsonValue, AfterValidator(_checked)]


class Sent(BaseModel):
    """What a client sends: unknown fields are refused, for they are usually typing errors."""

    model_config = ConfigDict(extra="forbid")


class Given(BaseModel):
    """What the catalog answers, read from the views of the service."""

    model_config = ConfigDict(from_attributes=True)


T = TypeVar("T")


class PageOf(Given, Generic[T]):
    """Some items; `next` is the cursor of the page after, null at the end."""

    items: list[T]
    next: str | None = Field(description="Send it as `cursor` to get the next page; null at the end.")
