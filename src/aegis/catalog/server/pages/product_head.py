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
class Tab:
    """One part of a product."""

    name: str
    path: str


def head(context: PageContext, product: records.Product) -> dict[str, Any]:
    """What the head of a product's page shows; ``can`` is what the service would allow: a page offers nothing else."""

    def may_do(permission: Permission) -> bool:
        return may(context.actor, permission, product.id)

    here = f"/products/{product.name}"
    tabs = [
        ("Overview", "", True),
        ("Configurations", "/configurations", True),
        ("Counts", "/summaries", may_do(Permission.SEE_JOBS)),
        ("Ranking", "/ranking", may_do(Permission.SEE_JOBS)),
        ("Requests", "/requests", may_do(Permission.SEE_REQUESTS)),
        ("Releases", "/releases", may_do(Permission.SEE_RELEASES)),
        ("Audit", "/audit", may_do(Permission.SEE_PRODUCT_AUDIT)),
    ]
    return {
        "product": product,
        "can": {
            "change": may_do(Permission.CHANGE_PRODUCT),
            "propose": may_do(Permission.PROPOSE_CONFIGURATION),
            "push_summary": may_do(Permission.PUSH_SUMMARY),
            "advise": may_do(Permission.START_ADVICE),
            "request": may_do(Permission.REQUEST_ACCESS) and product.state == "published",
        },
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
