"""Finding things as somebody: what they must not know of is not found."""

from __future__ import annotations

from typing import Any, TypeVar

from sqlalchemy import select

from aegis.catalog.database.tables import Product, Request, Summary, Table, is_id
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.checks import printable
from aegis.catalog.service.permissions import Permission, may, require
from aegis.catalog.states import ProductState
from aegis.errors import NotFoundError

RowType = TypeVar("RowType", bound=Table)

_NO_PRODUCT = "there is no such product; look at the list of products"


def visible_product(work: Work, key: str, needed: Permission | None = None, *, lock: bool = False) -> Product:
    """The product with this name or id, if the actor may know of it; raises unless they may do what is ``needed``."""
    require(work.actor, Permission.SEE_CATALOG)
    row = None if lock else work.seen_products.get(key)
    if row is None and printable(key):
        query = select(Product).where(Product.id == key if is_id(key) else Product.name == key)
        if lock:
            query = query.with_for_update(key_share=True).execution_options(populate_existing=True)
        row = work.session.scalar(query)
    product = checked_visible(work, row)
    if needed is not None:
        require(work.actor, needed, product.id)
    return product


def checked_visible(work: Work, product: Product | None) -> Product:
    """The product that was found; `NotFoundError` where there is none, or none that the actor may know of."""
    if product is None or not sees_product(work, product):
        raise NotFoundError(_NO_PRODUCT)
    work.seen_products[product.id] = work.seen_products[product.name] = product
    return product


def sees_product(work: Work, product: Product) -> bool:
    """Drafts are for those who work on them, retired products also for those who once asked for them.

    A token of one product sees that one only.
    """
    actor = work.actor
    if actor.token_product not in (None, product.id):
        return False
    if product.state == ProductState.PUBLISHED or may(actor, Permission.SEE_DRAFT, product.id):
        return True
    if product.state == ProductState.DRAFT:
        return False
    query = select(Request.id).where(Request.consumer_id == actor.user_id, Request.product_id == product.id)
    return work.session.scalar(query.limit(1)) is not None


def of_current_summary(work: Work, product_id: str, what: Any) -> Any:
    """The product's current summary, or a column of it; None where it has none."""
    return work.session.scalar(select(what).where(Summary.product_id == product_id, Summary.current))


def by_id(work: Work, table: type[RowType], key: Any, *, lock: bool = False) -> RowType | None:
    """The row with this id, locked until the transaction ends if asked; None where the text is no id at all.

    Rows that refer to a locked one may still be added: their writers do not change it, and if they waited for its
    writer, who may add such rows as well, both could wait for each other.
    """
    if not is_id(key):
        return None
    return work.session.get(table, key, with_for_update={"key_share": True} if lock else None, populate_existing=lock)


def locked(work: Work, table: type[RowType], key: str) -> RowType:
    """The row with this id, which something refers to, locked as by `by_id`."""
    row = by_id(work, table, key, lock=True)
    assert row is not None
    return row
