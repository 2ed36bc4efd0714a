"""Requests for access as people see them: the state that counts, one with its history, lists, what waits for whom."""

from __future__ import annotations

import datetime
from enum import StrEnum
from functools import lru_cache, partial
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Select, String, and_, bindparam, func, literal, or_, select, true
from sqlalchemy.orm import InstrumentedAttribute, aliased

from aegis.catalog import records
from aegis.catalog.database.tables import Audit, Configuration, Job, Product, Request, Table, User, UtcTime, is_id
from aegis.catalog.records import Page, record_of
from aegis.catalog.service.audit_log import audit_view
from aegis.catalog.service.catalog import Work, by_id, visible_product
from aegis.catalog.service.paging import FIRST, PageRequest, paged_query, read_page
from aegis.catalog.service.permissions import Permission, may, products_where, require
from aegis.catalog.states import OPEN_REQUESTS, JobState, ProductState, RequestState
from aegis.errors import InputError, NotFoundError

RowType = TypeVar("RowType")


def effective_state(row: Any, now: datetime.datetime) -> RequestState:
    """The state as it counts: past its end a request is expired, whether or not that was written down yet."""
    state: RequestState = row.state
    if state in OPEN_REQUESTS and row.expires_at is not None and row.expires_at <= now:
        return RequestState.EXPIRED
    return state


def in_state(state: RequestState, now: datetime.datetime | ColumnElement[datetime.datetime]) -> ColumnElement[bool]:
    """The same as a condition."""
    if state is RequestState.EXPIRED:
        overdue = and_(Request.state.in_(OPEN_REQUESTS), Request.expires_at <= now)
        return or_(Request.state == state, overdue)
    if state not in OPEN_REQUESTS:
        return Request.state == state
    return and_(Request.state == state, or_(Request.expires_at.is_(None), Request.expires_at > now))


def request(work: Work, *, request_id: str) -> records.RequestWithHistory:
    """One request with its history."""
    require(work.actor, Permission.SEE_CATALOG)
    row = work.session.execute(_OF_ID, {"id": request_id}).one_or_none() if is_id(request_id) else None
    return _with_history(work, _checked_seen(work, row))


def seen_request(work: Work, request_id: str, needed: Permission | None = None, *, lock: bool = False) -> Request:
    """The request, if the actor may know of it; raises unless they may do what is ``needed`` to it."""
    require(work.actor, Permission.SEE_CATALOG)
    row = _checked_seen(work, by_id(work, Request, request_id, lock=lock))
    if needed is not None:
        require(work.actor, needed, row.product_id)
    return row


def _checked_seen(work: Work, row: RowType | None) -> RowType:
    if row is None or not sees_request(work, row):
        raise NotFoundError("there is no such request; look at the list of requests")
    return row


def sees_request(work: Work, row: Any) -> bool:
    if work.actor.token_product not in (None, row.product_id):
        return False
    return row.consumer_id == work.actor.user_id or may(work.actor, Permission.SEE_REQUESTS, row.product_id)


def list_requests(
    work: Work, *, product: str | None = None, state: str | None = None, mine: bool = False, page: PageRequest = FIRST
) -> Page[records.AccessRequest]:
    """One's own requests and those for products one works on, the newest first."""
    require(work.actor, Permission.SEE_CATALOG)
    if state is not None and (not isinstance(state, str) or state not in set(RequestState)):
        raise InputError(f"a state is one of {', '.join(RequestState)}")
    at_work = products_where(work.actor, Permission.SEE_REQUESTS)
    query = _list_query(
        whose=_Whose.OWN if mine or at_work == frozenset() else _Whose.EVERY if at_work is None else _Whose.AT_WORK,
        of_token=work.actor.token_product is not None,
        of_product=product is not None,
        state=None if state is None else RequestState(state),
        continued=page.cursor is not None,
    )
    values = {
        "me": work.actor.user_id,
        "at_work": sorted(at_work or ()),
        "token_product": work.actor.token_product,
        "product": None if product is None else visible_product(work, product).id,
        "now": work.now,
    }
    return read_page(work.session, query, values, partial(_as_view, work.now), keys=_NEWEST, page=page)


class _Whose(StrEnum):
    """Whose requests somebody sees in a list."""

    OWN = "own"
    AT_WORK = "own, and those for products one works on"
    EVERY = "every"


_NEWEST = (Request.created_at, Request.id)


@lru_cache(maxsize=512)
def _list_query(
    *, whose: _Whose, of_token: bool, of_product: bool, state: RequestState | None, continued: bool
) -> Select[*tuple[Any, ...]]:
    """A list of this shape; whose, which product and which moment are parameters."""
    query = _selected()
    own = Request.consumer_id == bindparam("me")
    if whose is _Whose.OWN:
        query = query.where(own)
    elif whose is _Whose.AT_WORK:
        query = query.where(or_(own, Request.product_id.in_(bindparam("at_work", expanding=True))))
    if of_token:
        query = query.where(Request.product_id == bindparam("token_product"))
    if of_product:
        query = query.where(Request.product_id == bindparam("product"))
    if state is not None:
        query = query.where(in_state(state, bindparam("now", type_=UtcTime())))
    return paged_query(query, keys=_NEWEST, continued=continued, descending=True)


_consumer, _decider = aliased(User), aliased(User)


def _selected() -> Select[*tuple[Any, ...]]:
    """Plain columns: nobody changes a request through a list of them."""
    return (
        select(
            *Request.__table__.columns,
            Product.name.label("product_name"),
            Product.title.label("product_title"),
            _consumer.name.label("consumer_name"),
            _consumer.display_name.label("consumer_display_name"),
            Configuration.name.label("configuration_name"),
            _decider.name.label("decider_name"),
        )
        .select_from(Request)
        .join(Product, Product.id == Request.product_id)
        .join(_consumer, _consumer.id == Request.consumer_id)
        .outerjoin(Configuration, Configuration.id == Request.configuration_id)
        .outerjoin(_decider, _decider.id == Request.decided_by)
    )


_OF_ID = _selected().where(Request.id == bindparam("id"))
_HISTORY = select(*Audit.__table__.columns).where(Audit.subject_id == bindparam("id")).order_by(Audit.sequence)


def access_view(work: Work, request_id: str) -> records.AccessRequest:
    """A request that the actor was found to see."""
    return _as_view(work.now, work.session.execute(_OF_ID, {"id": request_id}).one())


def history_view(work: Work, request_id: str) -> records.RequestWithHistory:
    """The same with everything that happened to it."""
    return _with_history(work, work.session.execute(_OF_ID, {"id": request_id}).one())


def _with_history(work: Work, row: Any) -> records.RequestWithHistory:
    history = work.session.execute(_HISTORY, {"id": row.id})
    acts = tuple(audit_view(act) for act in history)
    return record_of(records.RequestWithHistory, _as_view(work.now, row), history=acts)


def _as_view(now: datetime.datetime, row: Any) -> records.AccessRequest:
    columns, state = tuple(row.columns), effective_state(row, now)
    return record_of(records.AccessRequest, row, columns=columns, state=state, decided_by=row.decider_name)


# What the start page counts

RECENT = 8


def overview(work: Work) -> records.Overview:
    """How much there is, and what waits for this person."""
    actor = work.actor
    require(actor, Permission.SEE_CATALOG)
    roles = {
        "at_work": products_where(actor, Permission.SEE_DRAFT),
        "watched": products_where(actor, Permission.SEE_JOBS),
        "decided": products_where(actor, Permission.DECIDE_REQUEST),
        "fulfilled": products_where(actor, Permission.PUSH_RELEASE),
    }
    query = _counts_query(
        everywhere=frozenset(name for name, ids in roles.items() if ids is None),
        nowhere=frozenset(name for name, ids in roles.items() if ids == frozenset()),
        of_token=actor.token_product is not None,
    )
    values: dict[str, Any] = {name: sorted(ids or ()) for name, ids in roles.items()}
    values |= {"me": actor.user_id, "token_product": actor.token_product, "now": work.now}
    products, mine, to_decide, to_fulfil, ready, jobs = work.session.execute(query, values).one()
    return records.Overview(
        products=products,
        requests_of_mine=mine,
        requests_to_decide=to_decide,
        requests_to_fulfil=to_fulfil,
        downloads_ready=ready,
        jobs_running=jobs,
        recent=list_requests(work, page=PageRequest(size=RECENT)).items,
    )


@lru_cache(maxsize=64)
def _counts_query(*, everywhere: frozenset[str], nowhere: frozenset[str], of_token: bool) -> Select[*tuple[Any, ...]]:
    """Everything in one query. Of a role that is held ``nowhere`` nothing is counted, nor looked for."""
    me, now = bindparam("me", type_=String()), bindparam("now", type_=UtcTime())

    def in_scope(column: InstrumentedAttribute[str]) -> ColumnElement[bool]:
        """A token for one product counts what belongs to that one."""
        return column == bindparam("token_product") if of_token else true()

    def among(column: InstrumentedAttribute[str], role: str) -> ColumnElement[bool]:
        return true() if role in everywhere else column.in_(bindparam(role, expanding=True))

    def count(table: type[Table], *conditions: ColumnElement[bool], role: str = "") -> ColumnElement[int]:
        if role in nowhere:
            return literal(0)
        return select(func.count()).select_from(table).where(*conditions).scalar_subquery()

    own = and_(Request.consumer_id == me, in_scope(Request.product_id))
    published = Product.state == ProductState.PUBLISHED
    running = Job.state.in_([JobState.QUEUED, JobState.RUNNING])
    seen = published if "at_work" in nowhere else or_(published, among(Product.id, "at_work"))
    return select(
        count(Product, seen, in_scope(Product.id)),
        count(Request, own),
        count(
            Request,
            in_state(RequestState.PENDING, now),
            Request.consumer_id != me,
            in_scope(Request.product_id),
            among(Request.product_id, "decided"),
            role="decided",
        ),
        count(
            Request,
            in_state(RequestState.APPROVED, now),
            in_scope(Request.product_id),
            among(Request.product_id, "fulfilled"),
            role="fulfilled",
        ),
        count(Request, own, in_state(RequestState.PROVISIONED, now)),
        count(Job, running, in_scope(Job.product_id), among(Job.product_id, "watched"), role="watched"),
    )
