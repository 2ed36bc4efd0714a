"""Data products: registered, changed, published, retired, found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from aegis.service.catalog import Work
from aegis.service.paging import FIRST, Page, PageRequest
from aegis.service.views import ProductView


def register(
    work: Work,
    *,
    name: str,
    title: str,
    description: str = "",
    columns: Iterable[Mapping[str, Any]],
    label: str | None = None,
    policy: Mapping[str, Any] | None = None,
) -> ProductView:
    """A new product, as a draft; whoever registers it becomes its provider.

    ``columns`` are ``{name, kind, role, description?}`` with the kinds and roles of the library; the label's role is
    ``label`` (or ``sensitive``). ``policy`` is a mapping as policy files write it.
    """
    raise NotImplementedError


def change(
    work: Work,
    *,
    product: str,
    version: int,
    title: str | None = None,
    description: str | None = None,
    columns: Iterable[Mapping[str, Any]] | None = None,
    label: str | None = None,
    policy: Mapping[str, Any] | None = None,
) -> ProductView:
    """Change what is given; `ConflictError` if somebody changed it after ``version`` was read."""
    raise NotImplementedError


def publish(work: Work, *, product: str, version: int | None = None) -> ProductView:
    """Show a draft (or a retired product) to everybody who is signed in; it needs a label and a policy."""
    raise NotImplementedError


def retire(work: Work, *, product: str, version: int | None = None) -> ProductView:
    """Take no further requests."""
    raise NotImplementedError


def list_products(work: Work, *, query: str = "", mine: bool = False, page: PageRequest = FIRST) -> Page[ProductView]:
    """The published products and those one works on, by name; ``query`` is searched in names, titles, descriptions."""
    raise NotImplementedError


def product(work: Work, *, product: str) -> ProductView:
    """One product by its name or id."""
    raise NotImplementedError
