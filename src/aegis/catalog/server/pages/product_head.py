"""What all pages of a product share: its head, its tabs, and what this person may do to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aegis.catalog import records
from aegis.catalog.server.pages.page import PageContext
from aegis.catalog.service.permissions import Permission, allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class Can:
    """What the service would allow; a page offers nothing else."""

    change: bool
    propose: bool
    push_summary: bool
    advise: bool
    see_jobs: bool
    request: bool
    see_requests: bool
    see_releases: bool
    push_release: bool
    see_audit: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    """One part of a product."""

    name: str
    path: str


def can(context: PageContext, product: records.Product) -> Can:
    """What this person may do to the product."""
    may = allowed(context.actor, product.id)
    return Can(
        change=Permission.CHANGE_PRODUCT in may,
        propose=Permission.PROPOSE_CONFIGURATION in may,
        push_summary=Permission.PUSH_SUMMARY in may,
        advise=Permission.START_ADVICE in may,
        see_jobs=Permission.SEE_JOBS in may,
        request=Permission.REQUEST_ACCESS in may and product.state == "published",
        see_requests=Permission.SEE_REQUESTS in may,
        see_releases=Permission.SEE_RELEASES in may,
        push_release=Permission.PUSH_RELEASE in may,
        see_audit=Permission.SEE_PRODUCT_AUDIT in may,
    )


def head(context: PageContext, product: records.Product) -> dict[str, Any]:
    """The context of the head of a product's page."""
    what = can(context, product)
    here = f"/products/{product.name}"
    tabs = [
        ("Overview", "", True),
        ("Configurations", "/configurations", True),
        ("Counts", "/summaries", what.see_jobs),
        ("Ranking", "/ranking", what.see_jobs),
        ("Requests", "/requests", what.see_requests),
        ("Releases", "/releases", what.see_releases),
        ("Audit", "/audit", what.see_audit),
    ]
    return {
        "product": product,
        "can": what,
        "tabs": [Tab(name=name, path=here + path) for name, path, shown in tabs if shown],
        "here": next((here + path for _, path, _ in reversed(tabs) if context.path.startswith(here + path)), here),
        "title": product.title,
    }
