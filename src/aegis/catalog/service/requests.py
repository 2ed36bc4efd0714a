"""Requests for access: asked, decided, revoked, taken back, expired; every step checked, timed and on the record."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache, partial
from typing import Any, TypeVar

from sqlalchemy import Select, bindparam, or_, select
from sqlalchemy.orm import aliased

from aegis.catalog import records
from aegis.catalog.database.tables import Audit, Configuration, Product, Release, Request, User, UtcTime, is_id
from aegis.catalog.records import Page, record_of
from aegis.catalog.service import ledger
from aegis.catalog.service.audit_log import audit_view
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.checks import checked_text, checked_whole
from aegis.catalog.service.notifications import NotificationKind, deciders, fulfillers, notify_of_request
from aegis.catalog.service.paging import FIRST, PageRequest, paged_query, read_page
from aegis.catalog.service.permissions import Permission, may, products_where, require
from aegis.catalog.service.request_steps import effective_state, in_state, move
from aegis.catalog.service.request_terms import terms_of
from aegis.catalog.service.visible import by_id, visible_product
from aegis.catalog.states import ProductState, ReleaseState, RequestState
from aegis.data.schema import Role
from aegis.errors import ConflictError, InputError, NotFoundError, NotPermittedError, RoleError
from aegis.measures.measure import MEASURES

RowType = TypeVar("RowType")


def ask(
    work: Work,
    *,
    product: str,
    purpose: str,
    columns: Iterable[str] = (),
    days: int = 90,
    measure: str | None = None,
) -> records.AccessRequest:
    """Ask for access to a published product; no column named means all that are not identifying."""
    product_row = visible_product(work, product, Permission.REQUEST_ACCESS)
    if product_row.state != ProductState.PUBLISHED:
        raise ConflictError("the product takes no requests at present; ask its provider")
    checked_whole(days, what="the number of days", least=1, most=work.settings.request_days)
    check_measure(measure)
    row = work.add(
        Request(
            product_id=product_row.id,
            consumer_id=work.user_id,
            purpose=checked_text(purpose, what="the purpose", least=3, most=5_000),
            columns=_columns(product_row, columns),
            days=days,
            measure=measure,
            state=RequestState.PENDING,
            expires_at=work.now + datetime.timedelta(days=work.settings.pending_days),
            created_at=work.now,
            changed_at=work.now,
        )
    )
    work.record("access requested", row, state=row.state, columns=len(row.columns), days=days, measure=measure)
    asks = "{consumer} asks for access to {product}."
    notify_of_request(work, deciders(work, row.product_id), NotificationKind.ASKED, row, asks)
    return _as_view(work.now, work.session.execute(_OF_ID, {"id": row.id}).one())


def decide(
    work: Work,
    *,
    request_id: str,
    version: int | None = None,
    approve: bool,
    configuration_id: str | None = None,
    reason: str | None = None,
    despite_ledger: str | None = None,
) -> records.RequestWithHistory:
    """Approve with a configuration, or reject with a reason; the second of two decisions is a conflict.

    `VerificationError` where the masking breaks the policy together with earlier releases, unless ``despite_ledger``
    says why it shall leave all the same: that stands on the record.
    """
    row = seen_request(work, request_id, Permission.DECIDE_REQUEST, lock=True)
    if row.consumer_id == work.actor.user_id:
        raise NotPermittedError("nobody decides their own request; somebody else has to")
    checked_reason = None if reason is None else checked_text(reason, what="the reason", most=5_000)
    if approve:
        if configuration_id is None:
            raise InputError("an approval names the configuration to release with")
        chosen = by_id(work, Configuration, configuration_id, lock=True)
        if chosen is None or chosen.product_id != row.product_id:
            raise InputError("the configuration is none of this product's; choose one of its list")
        if chosen.withdrawn_at is not None:
            raise ConflictError("the configuration was withdrawn; choose another one")
        despite = None if not despite_ledger else checked_text(despite_ledger, what="the reason", least=3, most=2_000)
        product = work.session.get_one(Product, row.product_id)
        approval = ledger.check_approval(work, product, chosen, row, despite=despite)
        row.despite, row.approved_under = approval.despite, terms_of(product)
        move(work, row, RequestState.APPROVED, version=version)
        row.configuration_id = chosen.id
        row.expires_at = work.now + datetime.timedelta(days=row.days)
    else:
        approval = ledger.Approval()
        if not checked_reason:
            raise InputError("a rejection needs a reason that the consumer will read")
        if despite_ledger:
            raise InputError("only an approval can be despite the ledger; leave that reason out")
        move(work, row, RequestState.REJECTED, version=version)
        row.expires_at = None
    row.reason, row.decided_by, row.decided_at = checked_reason or None, work.actor.user_id, work.now
    details: dict[str, Any] = {"despite_ledger": row.despite} if row.despite else {}
    if approval.unjudged:
        details["not_judged_together"] = True
    action = "request approved" if approve else "request rejected"
    work.record(action, row, state=row.state, configuration_id=row.configuration_id, **details)
    work.session.flush()
    if approve:
        made = "Your request for {product} was approved; the provider now makes the release."
        notify_of_request(work, [row.consumer_id], NotificationKind.APPROVED, row, made)
        words = "A release of {product} for {consumer} is to be made."
        if approval.unjudged:
            words += " Nobody judged its masking together with earlier releases: the ledger of the table decides."
        notify_of_request(work, fulfillers(work, row.product_id), NotificationKind.TO_FULFIL, row, words)
    else:
        rejected = "Your request for {product} was rejected; its page says why."
        notify_of_request(work, [row.consumer_id], NotificationKind.REJECTED, row, rejected)
    return _view(work, row.id)


def revoke(work: Work, *, request_id: str, reason: str, version: int | None = None) -> records.RequestWithHistory:
    """The provider ends a request that was approved or provisioned (or still waits)."""
    row = seen_request(work, request_id, Permission.REVOKE_REQUEST, lock=True)
    checked_reason = checked_text(reason, what="the reason", least=1, most=5_000)
    move(work, row, RequestState.REVOKED, version=version)
    row.reason = checked_reason
    work.record("request revoked", row, state=row.state)
    work.session.flush()
    notify_revoked(work, row)
    return _view(work, row.id)


def withdraw(work: Work, *, request_id: str, version: int | None = None) -> records.RequestWithHistory:
    """The consumer takes the request back; it counts as revoked."""
    row = seen_request(work, request_id, lock=True)
    if row.consumer_id != work.actor.user_id:
        raise NotPermittedError("only the consumer takes a request back; a provider revokes it")
    require(work.actor, Permission.WITHDRAW_REQUEST, row.product_id)
    before = effective_state(row, work.now)
    move(work, row, RequestState.REVOKED, version=version)
    row.reason = "taken back by the consumer"
    work.record("request withdrawn", row, state=row.state)
    work.session.flush()
    waiting = deciders if before is RequestState.PENDING else fulfillers
    taken = "{consumer} took the request for {product} back."
    notify_of_request(work, waiting(work, row.product_id), NotificationKind.WITHDRAWN, row, taken)
    return _view(work, row.id)


def take_back_waiting(work: Work, *, request_id: str) -> None:
    """Where one's own request still waits for a decision, take it back: another one takes its place."""
    if not request_id:
        return
    row = seen_request(work, request_id, lock=True)
    if row.consumer_id == work.actor.user_id and effective_state(row, work.now) is RequestState.PENDING:
        withdraw(work, request_id=request_id)


def notify_revoked(work: Work, row: Request) -> None:
    """Notify the consumer that access ended before its time."""
    notify_of_request(work, [row.consumer_id], NotificationKind.REVOKED, row, "Your access to {product} was revoked.")


def list_requests(
    work: Work,
    *,
    product: str | None = None,
    state: str | None = None,
    mine: bool = False,
    page: PageRequest = FIRST,
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


def check_measure(measure: Any) -> None:
    if measure is not None:
        MEASURES[measure if isinstance(measure, str) else ""]


def _columns(product: Product, columns: Iterable[str]) -> list[str]:
    open_ones = [column["name"] for column in product.columns if column["role"] != Role.IDENTIFYING]
    names = [columns] if isinstance(columns, str) else list(columns)
    if not all(isinstance(name, str) for name in names):
        raise RoleError("the columns of a request are named by texts")
    names = list(dict.fromkeys(names))
    if not set(names) <= set(open_ones):
        raise RoleError("a requested column is not one of the product's, or identifies people; look at its schema")
    return names or open_ones


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


def _view(work: Work, request_id: str) -> records.RequestWithHistory:
    return _with_history(work, work.session.execute(_OF_ID, {"id": request_id}).one())


def _with_history(work: Work, row: Any) -> records.RequestWithHistory:
    history = work.session.execute(_HISTORY, {"id": row.id})
    acts = tuple(audit_view(act) for act in history)
    return record_of(records.RequestWithHistory, _as_view(work.now, row), history=acts)


def _as_view(now: datetime.datetime, row: Any) -> records.AccessRequest:
    columns, state = tuple(row.columns), effective_state(row, now)
    return record_of(records.AccessRequest, row, columns=columns, state=state, decided_by=row.decider_name)


def reinstate(work: Work, *, request_id: str, days: int) -> records.RequestWithHistory:
    """Undo that a request expired, for some days more (administrators): a clock may have been wrong."""
    require(work.actor, Permission.MANAGE_PEOPLE)
    checked_whole(days, what="the number of days", least=1, most=work.settings.request_days)
    row = seen_request(work, request_id, lock=True)
    if row.consumer_id == work.actor.user_id:
        raise NotPermittedError("nobody prolongs their own request; somebody else has to")
    if effective_state(row, work.now) is not RequestState.EXPIRED:
        raise ConflictError("the request is not expired; there is nothing to undo")
    if row.release_id is not None:
        release = work.session.get_one(Release, row.release_id)
        if release.state != ReleaseState.VERIFIED:
            raise ConflictError("its release is not there any more; the consumer has to ask again")
        state = RequestState.PROVISIONED
    else:
        state = RequestState.PENDING if row.configuration_id is None else RequestState.APPROVED
    row.state, row.changed_at = state, work.now
    row.expires_at = work.now + datetime.timedelta(days=days)
    work.record("request reinstated", row, state=row.state, days=days)
    work.session.flush()
    notify_of_request(
        work, [row.consumer_id], NotificationKind.REINSTATED, row, "Your request for {product} counts again."
    )
    return _view(work, row.id)
