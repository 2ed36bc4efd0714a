"""What the start page counts."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Select, String, and_, bindparam, func, literal, or_, select, true
from sqlalchemy.orm import InstrumentedAttribute

from aegis.catalog import records
from aegis.catalog.database.tables import Job, Product, Request, Table, UtcTime
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.paging import PageRequest
from aegis.catalog.service.permissions import Permission, products_where, require
from aegis.catalog.service.request_steps import in_state
from aegis.catalog.service.requests import list_requests
from aegis.catalog.states import JobState, ProductState, RequestState

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
