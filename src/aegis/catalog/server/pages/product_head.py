"""What all pages of a product share: which one it is, its head, its tabs, and what this person may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aegis.catalog import records
from aegis.catalog.server.pages.page import PageContext
from aegis.catalog.service import products
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.permissions import Permission, may, require


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

    def may_do(permission: Permission) -> bool:
        return may(context.actor, permission, product.id)

    return Can(
        change=may_do(Permission.CHANGE_PRODUCT),
        propose=may_do(Permission.PROPOSE_CONFIGURATION),
        push_summary=may_do(Permission.PUSH_SUMMARY),
        advise=may_do(Permission.START_ADVICE),
        see_jobs=may_do(Permission.SEE_JOBS),
        request=may_do(Permission.REQUEST_ACCESS) and product.state == "published",
        see_requests=may_do(Permission.SEE_REQUESTS),
        see_releases=may_do(Permission.SEE_RELEASES),
        push_release=may_do(Permission.PUSH_RELEASE),
        see_audit=may_do(Permission.SEE_PRODUCT_AUDIT),
    )


def head(context: PageContext, product: records.Product) -> dict[str, Any]:
    """The context of the head of a product's page."""
    rights = can(context, product)
    here = f"/products/{product.name}"
    tabs = [
        ("Overview", "", True),
        ("Configurations", "/configurations", True),
        ("Counts", "/summaries", rights.see_jobs),
        ("Ranking", "/ranking", rights.see_jobs),
        ("Requests", "/requests", rights.see_requests),
        ("Releases", "/releases", rights.see_releases),
        ("Audit", "/audit", rights.see_audit),
    ]
    return {
        "product": product,
        "can": rights,
        "tabs": [Tab(name=name, path=here + path) for name, path, shown in tabs if shown],
        "here": next((here + path for _, path, _ in reversed(tabs) if context.path.startswith(here + path)), here),
        "title": product.title,
    }


def product_of(context: PageContext, work: Work, needed: Permission | None = None) -> records.Product:
    """The product that the address names; raises unless this person may do there what is ``needed``."""
    product = products.product(work, product=context.parameters["product"])
    if needed is not None:
        require(context.actor, needed, product.id)
    return product
