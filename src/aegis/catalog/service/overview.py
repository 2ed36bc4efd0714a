"""What the start page counts."""

from __future__ import annotations

from sqlalchemy import ColumnElement, ScalarSelect, and_, func, or_, select, true
from sqlalchemy.orm import InstrumentedAttribute

from aegis.catalog import records
from aegis.catalog.database.tables import Job, Product, Request, Table
from aegis.catalog.records import UserRole
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.paging import PageRequest
from aegis.catalog.service.permissions import Actor, Permission, require
from aegis.catalog.service.request_steps import in_state
from aegis.catalog.service.requests import list_requests
from aegis.catalog.states import JobState, ProductState, RequestState

RECENT = 8


def overview(work: Work) -> records.Overview:
    """How much there is, and what waits for this person."""
    actor = work.actor
    require(actor, Permission.SEE_CATALOG)
    own = and_(Request.consumer_id == actor.user_id, _in_scope(Request.product_id, actor))
    at_work = actor.products_as(UserRole.PROVIDER, UserRole.EXPERT)
    shown = Product.state == ProductState.PUBLISHED.value
    running = Job.state.in_([JobState.QUEUED.value, JobState.RUNNING.value])
    seen = true() if at_work is None else or_(shown, Product.id.in_(at_work))
    counted = work.session.execute(
        select(
            _count(Product, seen, _in_scope(Product.id, actor)),
            _count(Request, own),
            _count(
                Request,
                in_state(RequestState.PENDING, work.now),
                Request.consumer_id != actor.user_id,
                _in_scope(Request.product_id, actor),
                _among(Request.product_id, actor.products_as(UserRole.EXPERT)),
            ),
            _count(
                Request,
                in_state(RequestState.APPROVED, work.now),
                _in_scope(Request.product_id, actor),
                _among(Request.product_id, actor.products_as(UserRole.PROVIDER)),
            ),
            _count(Request, own, in_state(RequestState.PROVISIONED, work.now)),
            _count(Job, running, _in_scope(Job.product_id, actor), _among(Job.product_id, at_work)),
        )
    ).one()
    products, mine, to_decide, to_fulfil, ready, jobs = counted
    return records.Overview(
        products=products,
        requests_of_mine=mine,
        requests_to_decide=to_decide,
        requests_to_fulfil=to_fulfil,
        downloads_ready=ready,
        jobs_running=jobs,
        recent=list_requests(work, page=PageRequest(size=RECENT)).items,
    )


def _count(table: type[Table], *conditions: ColumnElement[bool]) -> ScalarSelect[int]:
    return select(func.count()).select_from(table).where(*conditions).scalar_subquery()


def _in_scope(column: InstrumentedAttribute[str], actor: Actor) -> ColumnElement[bool]:
    """A token for one product counts what belongs to that one."""
    return true() if actor.token_product is None else column == actor.token_product


def _among(column: InstrumentedAttribute[str], ids: frozenset[str] | None) -> ColumnElement[bool]:
    return true() if ids is None else column.in_(ids)
