"""Data products: registered, changed, published, retired, found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from sqlalchemy import Select, bindparam, func, select

from aegis.catalog import records
from aegis.catalog.database.tables import Assignment, Configuration, Product, Summary, User, is_id
from aegis.catalog.records import Page, UserRole, record_of
from aegis.catalog.service.catalog import Work, checked_visible, of_current_summary, visible_product
from aegis.catalog.service.checks import (
    checked_columns,
    checked_line,
    checked_policy,
    checked_slug,
    checked_text,
    policy_facts,
    printable,
)
from aegis.catalog.service.finding import BY_NAME, TAGS, SearchShape, product_search, search_text, set_tags, split_tags
from aegis.catalog.service.paging import FIRST, PageRequest, paged_query, read_page
from aegis.catalog.service.permissions import Held, Permission, require
from aegis.catalog.states import ProductState, check_step
from aegis.data.schema import Role
from aegis.errors import ConflictError, InputError


def register(
    work: Work,
    *,
    name: str,
    title: str,
    description: str = "",
    columns: Iterable[Mapping[str, Any]],
    label: str | None = None,
    policy: Mapping[str, Any] | None = None,
    tags: Iterable[str] = (),
) -> records.Product:
    """A new product, as a draft; whoever registers it becomes its provider.

    ``columns`` are ``{name, kind, role, description?}`` with the kinds and roles of the library; the label's role is
    ``label`` (or ``sensitive``). ``policy`` is a mapping as policy files write it.
    """
    require(work.actor, Permission.REGISTER_PRODUCT)
    slug = checked_slug(name, what="the product's name")
    listed, label = checked_columns(columns, label)
    rules = None if policy is None else checked_policy(policy, listed, label)
    if work.session.scalar(select(Product.id).where(Product.name == slug)) is not None:
        raise ConflictError("there is a product of this name already; choose another name")
    row = Product(
        name=slug,
        title=_title(title),
        description=_description(description),
        columns=listed,
        label=label,
        policy=rules,
        owner_id=work.user_id,
        state=ProductState.DRAFT,
        search_text="",
        created_at=work.now,
        changed_at=work.now,
    )
    row.search_text = search_text(row)
    work.add(row)
    set_tags(work, row.id, tags)
    if not (work.actor.is_admin or work.actor.holds(UserRole.PROVIDER)):
        work.add(Assignment(user_id=work.user_id, role=UserRole.PROVIDER, product_id=row.id))
        provider = Held(role=UserRole.PROVIDER, product_id=row.id)
        work.actor = replace(work.actor, roles=work.actor.roles | {provider})
    work.record("product registered", row, name=slug, columns=len(listed), policy_id=_policy_id(rules))
    return _view(work, row.id)


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
    tags: Iterable[str] | None = None,
) -> records.Product:
    """Change what is given; a conflict if somebody changed it after ``version`` was read.

    A current summary that no longer fits the columns is current no longer.
    """
    row = _changeable(work, product, version)
    changed = []
    if title is not None and _title(title) != row.title:
        row.title = _title(title)
        changed.append("title")
    if description is not None and _description(description) != row.description:
        row.description = _description(description)
        changed.append("description")
    if columns is not None or label is not None:
        declared = row.columns if columns is None else columns
        listed, chosen = checked_columns(declared, label)
        if (listed, chosen) != (row.columns, row.label):
            row.columns, row.label = listed, chosen
            changed.append("columns")
    if policy is not None or "columns" in changed:
        new_policy = row.policy if policy is None else policy
        rules = None if new_policy is None else checked_policy(new_policy, row.columns, row.label)
        if rules != row.policy:
            row.policy = rules
            changed.append("policy")
    if row.state == ProductState.PUBLISHED:
        _check_complete(row)
    if "columns" in changed:
        _retire_unfit_summary(work, row)
    if tags is not None and set_tags(work, row.id, tags):
        changed.append("tags")
    if changed:
        row.search_text = search_text(row)
        row.changed_at = work.now
        work.record("product changed", row, changed=changed, policy_id=_policy_id(row.policy))
    work.session.flush()
    return _view(work, row.id)


def publish(work: Work, *, product: str, version: int | None = None) -> records.Product:
    """Show a draft (or a retired product) to everybody who is signed in; it needs a label and a policy."""
    row = _changeable(work, product, version)
    _check_complete(row)
    return _moved(work, row, ProductState.PUBLISHED, "product published")


def retire(work: Work, *, product: str, version: int | None = None) -> records.Product:
    """Take no further requests."""
    return _moved(work, _changeable(work, product, version), ProductState.RETIRED, "product retired")


def list_products(
    work: Work,
    *,
    query: str = "",
    tag: str | None = None,
    owner: str | None = None,
    mine: bool = False,
    published: bool = False,
    page: PageRequest = FIRST,
) -> Page[records.Product]:
    """The published products and those one works on, by name.

    With ``published`` there are no others than those. ``query`` is searched in names, titles, descriptions, tags, and
    the names and meanings of columns.
    """
    require(work.actor, Permission.SEE_CATALOG)
    search = product_search(work.actor, words=query, tag=tag, owner=owner, mine=mine, published=published)
    listed = _list_query(search.shape, continued=page.cursor is not None)
    return read_page(work.session, listed, search.values, lambda row: _as_view(row, *row[-4:]), keys=BY_NAME, page=page)


@lru_cache(maxsize=512)
def _list_query(shape: SearchShape, *, continued: bool) -> Select[*tuple[Any, ...]]:
    """The plain columns of a page of products: a list needs no objects that could be changed."""
    query = _with_counts(select(*_SHOWN)).where(*shape.conditions())
    return paged_query(query, keys=BY_NAME, continued=continued)


def product(work: Work, *, product: str) -> records.Product:
    """One product by its name or id."""
    require(work.actor, Permission.SEE_CATALOG)
    query, values = (_OF_ID, {"id": product}) if is_id(product) else (_OF_NAME, {"name": product})
    row = work.session.execute(query, values).one_or_none() if printable(product) else None
    checked_visible(work, None if row is None else row[0])
    assert row is not None
    return _as_view(*row)


def _changeable(work: Work, key: str, version: int | None) -> Product:
    row = visible_product(work, key, Permission.CHANGE_PRODUCT, lock=True)
    if version is not None and version != row.version:
        raise ConflictError("somebody changed the product in the meantime; look at it again")
    return row


def _moved(work: Work, row: Product, state: ProductState, action: str) -> records.Product:
    check_step(row.state, state, what="the product")
    row.state, row.changed_at = state, work.now
    work.record(action, row, state=state)
    work.session.flush()
    return _view(work, row.id)


def _check_complete(row: Product) -> None:
    if row.label is None:
        raise InputError("a published product needs a label: the column that consumers want to predict")
    if row.policy is None:
        raise InputError("a published product needs a policy that its releases must satisfy")


def _retire_unfit_summary(work: Work, row: Product) -> None:
    current = of_current_summary(work, row.id, Summary)
    if current is None:
        return
    by_name = {column["name"]: column for column in row.columns}
    fits = current.label == row.label and all(
        histogram["column"] in by_name
        and by_name[histogram["column"]]["role"] != Role.IDENTIFYING
        and by_name[histogram["column"]]["kind"] == (histogram["kind"] or by_name[histogram["column"]]["kind"])
        for histogram in current.histograms
    )
    if not fits:
        current.current = False
        work.record("summary set aside", current)


def _policy_id(policy: Mapping[str, Any] | None) -> str | None:
    facts = policy_facts(policy)
    return None if facts is None else facts.id


def _title(title: Any) -> str:
    return checked_line(title, what="the title", most=200)


def _description(description: Any) -> str:
    return checked_text(description, what="the description", most=20_000)


def _with_counts(query: Select[*tuple[Any, ...]]) -> Select[*tuple[Any, ...]]:
    """Products with their owner's name, the number of configurations, the current summary and the tags."""
    offered = (
        select(func.count())
        .where(Configuration.product_id == Product.id, Configuration.withdrawn_at.is_(None))
        .scalar_subquery()
    )
    current = select(Summary.id).where(Summary.product_id == Product.id, Summary.current).scalar_subquery()
    return query.add_columns(User.name.label("owner_name"), offered, current, TAGS).join(
        User, User.id == Product.owner_id
    )


_SHOWN = tuple(column for column in Product.__table__.columns if column.name != "search_text")
_OF_ID = _with_counts(select(Product)).where(Product.id == bindparam("id"))
_OF_NAME = _with_counts(select(Product)).where(Product.name == bindparam("name"))


def _view(work: Work, product_id: str) -> records.Product:
    return _as_view(*work.session.execute(_OF_ID, {"id": product_id}).one())


def _as_view(row: Any, owner: str, offered: int, summary_id: str | None, tags: str | None) -> records.Product:
    facts = policy_facts(row.policy)
    return record_of(
        records.Product,
        row,
        columns=tuple(records.Column(**column) for column in row.columns),
        policy_id=None if facts is None else facts.id,
        policy_lines=() if facts is None else facts.lines,
        owner_name=owner,
        configurations=offered,
        summary_id=summary_id,
        tags=split_tags(tags),
    )


MOST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductChoices:
    """Pairs of name and title; not ``complete`` where there are more than anybody would scroll through."""

    listed: tuple[tuple[str, str], ...]
    complete: bool


def product_choices(work: Work) -> ProductChoices:
    """The products that the actor works on: all for an administrator, those that are published for a consumer."""
    require(work.actor, Permission.SEE_CATALOG)
    query = select(Product.name, Product.title).order_by(Product.name).limit(MOST + 1)
    ids = work.actor.products_as(UserRole.PROVIDER, UserRole.EXPERT)
    if ids:
        query = query.where(Product.id.in_(ids))
    elif ids is not None:
        query = query.where(Product.state == ProductState.PUBLISHED)
    if work.actor.token_product is not None:
        query = query.where(Product.id == work.actor.token_product)
    owners = [(name, title) for name, title in work.session.execute(query)]
    return ProductChoices(listed=tuple(owners[:MOST]), complete=len(owners) <= MOST)
