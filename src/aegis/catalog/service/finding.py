"""Finding products: words in what they say of themselves, tags, owners; and how many there are of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Select, String, bindparam, delete, func, literal, or_, select, true, union_all

from aegis.catalog import records
from aegis.catalog.database.tables import Product, ProductTag, User
from aegis.catalog.records import Page, record_of
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.checks import checked_line, printable
from aegis.catalog.service.paging import FIRST, PageRequest, paged_query, read_page
from aegis.catalog.service.permissions import Actor, Permission, products_where, require
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


def search_text(product: Product) -> str:
    """Everything that a product says of itself, in small letters: what a search looks through.

    >>> columns = [{"name": "Age", "description": "in years"}]
    >>> search_text(Product(name="a", title="B", description="", columns=columns))
    'a\\nb\\nage\\nin years'
    """
    texts = [product.name, product.title, product.description]
    texts += [part for column in product.columns for part in (column["name"], column.get("description", ""))]
    return "\n".join(part for part in texts if part).lower()


def set_tags(work: Work, product_id: str, tags: Iterable[str]) -> bool:
    """File a product under these tags and no others; gives whether that is a change."""
    tag_set = set(checked_tags(tags))
    present = set(work.session.scalars(select(ProductTag.tag).where(ProductTag.product_id == product_id)))
    if tag_set == present:
        return False
    gone = present - tag_set
    work.session.execute(delete(ProductTag).where(ProductTag.product_id == product_id, ProductTag.tag.in_(gone)))
    for tag in sorted(tag_set - present):
        work.session.add(ProductTag(product_id=product_id, tag=tag))
    work.session.flush()
    return True


class Visible(StrEnum):
    """Which products somebody sees at all."""

    EVERY = "every"
    PUBLISHED = "published"
    PUBLISHED_OR_OWN = "published, and those that they work on"
    OWN = "those that they work on"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchShape:
    """Which conditions a search has. What they compare with are parameters: a statement is built once for a shape."""

    visible: Visible
    of_token: bool
    words: int
    by_tag: bool
    by_owner: bool

    def conditions(self) -> list[ColumnElement[bool]]:
        """The products that may be seen and that fit."""
        own = Product.id.in_(bindparam("own", expanding=True))
        published = Product.state == ProductState.PUBLISHED
        by_visible: dict[Visible, ColumnElement[bool]] = {
            Visible.EVERY: true(),
            Visible.PUBLISHED: published,
            Visible.PUBLISHED_OR_OWN: or_(published, own),
            Visible.OWN: own,
        }
        listed = [by_visible[self.visible]]
        if self.of_token:
            listed.append(Product.id == bindparam("token_product"))
        for number in range(self.words):
            pattern: ColumnElement[str] = bindparam(f"word_{number}", type_=String())
            tagged = select(ProductTag.product_id).where(ProductTag.tag.like(pattern, escape="\\"))
            listed.append(or_(Product.search_text.like(pattern, escape="\\"), Product.id.in_(tagged)))
        if self.by_tag:
            tagged = select(ProductTag.product_id).where(ProductTag.tag == bindparam("tag"))
            listed.append(Product.id.in_(tagged))
        if self.by_owner:
            listed.append(Product.owner_id.in_(select(User.id).where(User.name == bindparam("owner"))))
        return listed


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductSearch:
    """A search on behalf of somebody: its shape, and what its conditions compare with."""

    shape: SearchShape
    values: Mapping[str, Any]


def product_search(
    actor: Actor,
    *,
    words: str = "",
    tag: str | None = None,
    owner: str | None = None,
    mine: bool = False,
    published: bool = False,
) -> ProductSearch:
    """The products that somebody may see and that fit; ``mine`` are those that they work on.

    A token of one product sees that one.
    """
    parts = words.lower().split()
    if len(words) > 200 or len(parts) > 10 or not printable(words):
        raise InputError("search for a few words")
    for chosen in (tag, owner):
        if chosen is not None and not (isinstance(chosen, str) and len(chosen) <= 200 and printable(chosen)):
            raise InputError("choose a tag or an owner from the list")
    own = products_where(actor, Permission.SEE_DRAFT)
    if published:
        visible = Visible.PUBLISHED
    elif own is None:
        visible = Visible.EVERY
    elif mine:
        visible = Visible.OWN
    else:
        visible = Visible.PUBLISHED_OR_OWN if own else Visible.PUBLISHED
    values: dict[str, Any] = {}
    for number, word in enumerate(parts):
        escaped = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        values[f"word_{number}"] = f"%{escaped}%"
    if visible in (Visible.OWN, Visible.PUBLISHED_OR_OWN):
        values["own"] = sorted(own or ())
    if actor.token_product is not None:
        values["token_product"] = actor.token_product
    if tag is not None:
        values["tag"] = tag.lower()
    if owner is not None:
        values["owner"] = owner
    shape = SearchShape(
        visible=visible,
        of_token=actor.token_product is not None,
        words=len(parts),
        by_tag=tag is not None,
        by_owner=owner is not None,
    )
    return ProductSearch(shape=shape, values=values)


def entries(
    work: Work, *, query: str = "", tag: str | None = None, owner: str | None = None, page: PageRequest = FIRST
) -> Page[records.ProductEntry]:
    """The products that fit, by name, with no more of each than a list shows."""
    require(work.actor, Permission.SEE_CATALOG)
    search = product_search(work.actor, words=query, tag=tag, owner=owner)
    listed = _entries_query(search.shape, continued=page.cursor is not None)

    def view(row: Any) -> records.ProductEntry:
        return record_of(records.ProductEntry, row, tags=split_tags(row.tags))

    return read_page(work.session, listed, search.values, view, keys=BY_NAME, page=page)


BY_NAME = (Product.name,)
TAGS = select(func.aggregate_strings(ProductTag.tag, ",")).where(ProductTag.product_id == Product.id).scalar_subquery()


def split_tags(tags: str | None) -> tuple[str, ...]:
    """What `TAGS` gives, as tags: none has a comma."""
    return tuple(sorted(tags.split(","))) if tags else ()


@lru_cache(maxsize=512)
def _entries_query(shape: SearchShape, *, continued: bool) -> Select[*tuple[Any, ...]]:
    shown = select(
        Product.name,
        Product.title,
        Product.description,
        func.json_array_length(Product.columns).label("columns"),
        Product.state,
        TAGS.label("tags"),
    )
    return paged_query(shown.where(*shape.conditions()), keys=BY_NAME, continued=continued)


def facets(work: Work, *, query: str = "", tag: str | None = None, owner: str | None = None) -> records.Facets:
    """How many of the products that fit have each tag and each owner, the most frequent first."""
    require(work.actor, Permission.SEE_CATALOG)
    search = product_search(work.actor, words=query, tag=tag, owner=owner)
    rows = work.session.execute(_facets_query(search.shape), search.values).all()
    listed = sorted(rows, key=lambda row: (-row.number, row.name))
    return records.Facets(
        tags=tuple(_facet(row) for row in listed if row.kind == _TAG),
        owners=tuple(_facet(row) for row in listed if row.kind == _OWNER),
    )


def _facet(row: Any) -> records.Facet:
    return records.Facet(name=row.name, words=row.words or row.name, products=row.number)


_TAG, _OWNER = "tag", "owner"


@lru_cache(maxsize=256)
def _facets_query(shape: SearchShape) -> Select[*tuple[Any, ...]]:
    """Tags and owners in one query: the products are searched once."""
    products = select(Product.id, Product.owner_id).where(*shape.conditions()).cte("found_products")
    number = func.count().label("number")
    tags = (
        select(literal(_TAG).label("kind"), ProductTag.tag.label("name"), ProductTag.tag.label("words"), number)
        .join(products, products.c.id == ProductTag.product_id)
        .group_by(ProductTag.tag)
        .order_by(number.desc(), ProductTag.tag)
        .limit(_MOST_SHOWN)
        .subquery()
    )
    counted = select(products.c.owner_id, number).group_by(products.c.owner_id).subquery()
    owners = (
        select(literal(_OWNER).label("kind"), User.name, User.display_name.label("words"), counted.c.number)
        .join(counted, counted.c.owner_id == User.id)
        .order_by(counted.c.number.desc(), User.name)
        .limit(_MOST_SHOWN)
        .subquery()
    )
    return select(union_all(select(tags), select(owners)).subquery())
