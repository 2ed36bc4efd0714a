"""The products that somebody may choose from, in a form that needs one: names and titles, in the order of names."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select

from aegis.catalog.database.states import ProductState
from aegis.catalog.database.tables import Product
from aegis.catalog.service.actor import UserRole
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.permissions import Permission, require

MOST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductChoices:
    """Pairs of name and title; not ``complete`` where there are more than anybody would scroll through."""

    listed: tuple[tuple[str, str], ...]
    complete: bool


def product_choices(work: Work, *, most: int = MOST) -> ProductChoices:
    """The products that the actor works on: all for an administrator, those that are published for a consumer."""
    require(work.actor, Permission.SEE_CATALOG)
    query = select(Product.name, Product.title).order_by(Product.name).limit(most + 1)
    ids = work.actor.products_as(UserRole.PROVIDER, UserRole.EXPERT)
    if ids:
        query = query.where(Product.id.in_(ids))
    elif ids is not None:
        query = query.where(Product.state == ProductState.PUBLISHED.value)
    if work.actor.token_product is not None:
        query = query.where(Product.id == work.actor.token_product)
    found = [(name, title) for name, title in work.session.execute(query)]
    return ProductChoices(listed=tuple(found[:most]), complete=len(found) <= most)
