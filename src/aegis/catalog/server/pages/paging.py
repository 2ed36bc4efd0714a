"""The links under a long list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from aegis.catalog.server.pages.visit import Visit
from aegis.catalog.service.paging import Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Paging:
    """Whether this is a later page, and where the next one is."""

    started: bool
    next: str | None


def paging(visit: Visit, page: Page[Any]) -> Paging:
    """The links of a page; what else stands in the address, such as a search, is kept."""
    if page.next is None:
        return Paging(started="cursor" in visit.query, next=None)
    kept = {key: value for key, value in visit.query.items() if key != "cursor"}
    return Paging(
        started="cursor" in visit.query,
        next=f"{visit.path}?{urlencode({**kept, 'cursor': page.next})}",
    )
