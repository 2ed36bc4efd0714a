"""Some items of a long list, and the word that the catalog is well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from pydantic import Field

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """Some items; `next` is the cursor of the page after, null at the end."""

    items: tuple[T, ...]
    next: Annotated[str | None, Field(description="Send it as `cursor` to get the next page; null at the end.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Items(Generic[T]):
    """All there are of something."""

    items: tuple[T, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The catalog answers, and so does its database."""

    status: Annotated[str, Field(description="Always `ok`; a catalog that is not well answers with a problem.")] = "ok"
