"""Finding products: words in what they say of themselves, tags, owners; and how many there are of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Select, delete, func, or_, select, true

from aegis.catalog import records
from aegis.catalog.database.finding_tables import ProductTag
from aegis.catalog.database.tables import Product, User
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.checks import checked_line, printable
from aegis.catalog.service.permissions import Permission, products_where, require
from aegis.catalog.states import ProductState
from aegis.errors import InputError

MOST_TAGS = 20
_LONGEST_TAG = 40
_MOST_SHOWN = 30


def checked_tags(tags: Iterable[str]) -> list[str]:
    """Tags as they are stored: in small letters, each once.

    >>> checked_tags(["Cardiology", "registry", "cardiology"])
    ['cardiology', 'registry']
    """
    if isinstance(tags, str) or not isinstance(tags, Iterable):
        raise InputError("tags are a list of words")
    listed = {checked_line(tag, what="a tag", most=_LONGEST_TAG).lower() for tag in tags}
    if any("," in tag for tag in listed):
        raise InputError("a tag has no comma in it; commas stand between tags")
    if len(listed) > MOST_TAGS:
        raise InputError(f"a product has at most {MOST_TAGS} tags")
    return sorted(listed)


def search_text(*, name: str, title: str, description: str, columns: Iterable[Mapping[str, Any]]) -> str:
    """Everything that a product says of itself, in small letters: what a search looks through.

    >>> search_text(name="a", title="B", description="", columns=[{"name": "Age", "description": "in years"}])
    'a\\nb\\nage\\nin years'
    """
    texts = [name, title, description]
    texts += [part for column in columns for part in (column["name"], column.get("description", ""))]
    return "\n".join(part for part in texts if part).lower()


def set_tags(work: Work, product_id: str, tags: Iterable[str]) -> bool:
    """File a product under these tags and no others; gives whether that is a change."""
    wanted = set(checked_tags(tags))
    present = set(work.session.scalars(select(ProductTag.tag).where(ProductTag.product_id == product_id)))
    if wanted == present:
        return False
    gone = present - wanted
    work.session.execute(delete(ProductTag).where(ProductTag.product_id == product_id, ProductTag.tag.in_(gone)))
    for tag in sorted(wanted - present):
        work.session.add(ProductTag(product_id=product_id, tag=tag))
    work.session.flush()
    return True


def found_by(
    work: Work, query: Select[*tuple[Any, ...]], *, words: str, tag: str | None, owner: str | None, mine: bool = False
) -> Select[*tuple[Any, ...]]:
    """Narrow a question about products to those that the actor may see and that fit."""
    query = query.where(_visible(work, mine=mine))
    parts = words.lower().split()
    if len(words) > 200 or len(parts) > 10 or not printable(words):
        raise InputError("search for a few words")
    for word in parts:
        pattern = "%" + word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        tagged = select(ProductTag.product_id).where(ProductTag.tag.like(pattern, escape="\\"))
        query = query.where(or_(Product.search_text.like(pattern, escape="\\"), Product.id.in_(tagged)))
    for chosen in (tag, owner):
        if chosen is not None and not (isinstance(chosen, str) and len(chosen) <= 200 and printable(chosen)):
            raise InputError("choose a tag or an owner from the list")
    if tag is not None:
        query = query.where(Product.id.in_(select(ProductTag.product_id).where(ProductTag.tag == tag.lower())))
    if owner is not None:
        query = query.where(Product.owner_id.in_(select(User.id).where(User.name == owner)))
    return query


def facets(work: Work, *, query: str = "", tag: str | None = None, owner: str | None = None) -> records.Facets:
    """How many of the products that fit have each tag and each owner, the most frequent first."""
    require(work.actor, Permission.SEE_CATALOG)
    ids = found_by(work, select(Product.id), words=query, tag=tag, owner=owner)
    number = func.count().label("number")
    tags = work.session.execute(
        select(ProductTag.tag, number)
        .where(ProductTag.product_id.in_(ids))
        .group_by(ProductTag.tag)
        .order_by(number.desc(), ProductTag.tag)
        .limit(_MOST_SHOWN)
    )
    owners = work.session.execute(
        select(User.name, User.display_name, number)
        .join(Product, Product.owner_id == User.id)
        .where(Product.id.in_(ids))
        .group_by(User.name, User.display_name)
        .order_by(number.desc(), User.name)
        .limit(_MOST_SHOWN)
    )
    return records.Facets(
        tags=tuple(records.Facet(name=name, words=name, products=count) for name, count in tags),
        owners=tuple(
            records.Facet(name=name, words=display or name, products=count) for name, display, count in owners
        ),
    )


def _visible(work: Work, *, mine: bool) -> ColumnElement[bool]:
    """The published products and those one works on; a token of one product sees that one."""
    condition: ColumnElement[bool] = true()
    at_work = products_where(work.actor, Permission.SEE_DRAFT)
    if at_work is not None:
        of_mine = Product.id.in_(at_work)
        condition = of_mine if mine else or_(Product.state == ProductState.PUBLISHED.value, of_mine)
    if work.actor.token_product is not None:
        condition = condition & (Product.id == work.actor.token_product)
    return condition
