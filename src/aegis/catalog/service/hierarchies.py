"""The hierarchies that a product's configurations brought along."""

from __future__ import annotations

from sqlalchemy import select

from aegis.catalog.database.tables import Configuration
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.visible import visible_product
from aegis.data.hierarchy import Hierarchy


def known_hierarchies(work: Work, product_id: str) -> dict[str, Hierarchy]:
    """Every hierarchy by its name, which is the column's unless a configuration chose another."""
    found: dict[str, Hierarchy] = {}
    rows = work.session.scalars(
        select(Configuration.content)
        .where(Configuration.product_id == product_id)
        .order_by(Configuration.created_at, Configuration.id)
    )
    for content in rows:
        for name, levels in (content.get("hierarchies") or {}).items():
            if name not in found:
                found[name] = Hierarchy.of(levels)
    return found


def hierarchies(work: Work, *, product: str) -> dict[str, Hierarchy]:
    """The hierarchies of a product, to be looked at."""
    return known_hierarchies(work, visible_product(work, product).id)
