"""A data product with its columns, and what a search among products can be narrowed down by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aegis.catalog.states import ProductState


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of the table behind a product: kind and role are the words of the library."""

    name: str
    kind: str
    role: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A data product. ``policy`` is None until it has one; ``policy_lines`` say it in words."""

    id: str
    name: str
    title: str
    description: str
    columns: tuple[Column, ...]
    label: str | None
    policy: Mapping[str, Any] | None
    policy_id: str | None
    policy_lines: tuple[str, ...]
    owner_id: str
    owner_name: str
    state: ProductState
    created_at: datetime
    changed_at: datetime
    version: int
    configurations: int
    summary_id: str | None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductEntry:
    """A product as a list names it: ``columns`` is how many it has."""

    name: str
    title: str
    description: str
    columns: int
    state: ProductState
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """A tag or an owner, and how many of the products that were found have it."""

    name: str
    words: str
    products: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """What a search can be narrowed down by."""

    tags: tuple[Facet, ...]
    owners: tuple[Facet, ...]
