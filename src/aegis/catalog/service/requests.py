"""Requests for access: asked, decided, revoked, taken back, talked about, expired; every step checked, timed and on the
record.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

from sqlalchemy import bindparam, func, select

from aegis.catalog import records
from aegis.catalog.database.tables import Comment, Configuration, Notification, Product, Release, Request, User
from aegis.catalog.records import record_of
from aegis.catalog.service import judged_together
from aegis.catalog.service.catalog import Work, by_id, visible_product
from aegis.catalog.service.certificates import terms_of
from aegis.catalog.service.checks import checked_text, checked_whole
from aegis.catalog.service.notifications import NotificationKind, deciders, fulfillers, notify, notify_of_request
from aegis.catalog.service.permissions import Permission, require
from aegis.catalog.service.seen_requests import access_view, effective_state, history_view, seen_request
from aegis.catalog.states import OPEN_REQUESTS, ProductState, ReleaseState, RequestState, check_step
from aegis.data.schema import Role
from aegis.errors import ConflictError, InputError, NotPermittedError, RoleError
from aegis.measures.measure import MEASURES

MOST_COMMENTS = 200
_LONGEST_COMMENT = 5_000
_TOGETHER = 500


def ask(
    work: Work, *, product: str, purpose: str, columns: Iterable[str] = (), days: int = 90, measure: str | None = None
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
    return access_view(work, row.id)


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


def move(work: Work, row: Request, state: RequestState, *, version: int | None = None) -> None:
    """One step of a request that is locked; `ConflictError` if it is not allowed or somebody was faster."""
    if version is not None and version != row.version:
        raise ConflictError("somebody changed the request in the meantime; look at it again")
    check_step(effective_state(row, work.now), state, what="the request")
    row.state, row.changed_at = state, work.now


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
        approval = judged_together.check_approval(work, product, chosen, row, despite=despite)
        row.despite, row.approved_under = approval.despite, terms_of(product)
        move(work, row, RequestState.APPROVED, version=version)
        row.configuration_id = chosen.id
        row.expires_at = work.now + datetime.timedelta(days=row.days)
    else:
        approval = judged_together.Approval()
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
    return history_view(work, row.id)


def revoke(work: Work, *, request_id: str, reason: str, version: int | None = None) -> records.RequestWithHistory:
    """The provider ends a request that was approved or provisioned (or still waits)."""
    row = seen_request(work, request_id, Permission.REVOKE_REQUEST, lock=True)
    checked_reason = checked_text(reason, what="the reason", least=1, most=5_000)
    move(work, row, RequestState.REVOKED, version=version)
    row.reason = checked_reason
    work.record("request revoked", row, state=row.state)
    work.session.flush()
    notify_revoked(work, row)
    return history_view(work, row.id)


def notify_revoked(work: Work, row: Request) -> None:
    """Notify the consumer that access ended before its time."""
    notify_of_request(work, [row.consumer_id], NotificationKind.REVOKED, row, "Your access to {product} was revoked.")


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
    return history_view(work, row.id)


def take_back_waiting(work: Work, *, request_id: str) -> None:
    """Where one's own request still waits for a decision, take it back: another one takes its place."""
    if not request_id:
        return
    row = seen_request(work, request_id, lock=True)
    if row.consumer_id == work.actor.user_id and effective_state(row, work.now) is RequestState.PENDING:
        withdraw(work, request_id=request_id)


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
    return history_view(work, row.id)


# What people say to each other about a request


def comment(work: Work, *, request_id: str, words: str) -> records.Comment:
    """Say something about a request; those who take part are notified."""
    row = seen_request(work, request_id, Permission.COMMENT, lock=True)
    text = checked_text(words, what="the comment", least=1, most=_LONGEST_COMMENT)
    if (work.session.scalar(select(func.count()).where(Comment.request_id == row.id)) or 0) >= MOST_COMMENTS:
        raise ConflictError(f"a request has at most {MOST_COMMENTS} comments; ask again, or write a mail")
    made = work.add(Comment(request_id=row.id, user_id=work.user_id, words=text, created_at=work.now))
    work.record("request commented", row, comment=made.id)
    name = work.actor.display_name or work.actor.name
    notify(
        work,
        _others(work, row) - {work.user_id},
        NotificationKind.COMMENTED,
        words=f"{name} wrote a comment on a request.",
        path=f"/requests/{row.id}",
        product_id=row.product_id,
    )
    return _as_record(made, work.actor.name, work.actor.display_name)


def list_comments(work: Work, *, request_id: str) -> tuple[records.Comment, ...]:
    """The comments on a request, the oldest first."""
    return comments_of(work, seen_request(work, request_id).id)


def comments_of(work: Work, request_id: str) -> tuple[records.Comment, ...]:
    """The comments on a request that the actor was found to see."""
    rows = work.session.execute(_OF_REQUEST, {"request_id": request_id})
    return tuple(_as_record(*row) for row in rows)


_OF_REQUEST = (
    select(Comment, User.name, User.display_name)
    .join(User, User.id == Comment.user_id)
    .where(Comment.request_id == bindparam("request_id"))
    .order_by(Comment.created_at, Comment.id)
)


def _others(work: Work, row: Request) -> set[str]:
    """Who takes part: the consumer, whoever commented or decided, and whoever is next."""
    people = {row.consumer_id, *work.session.scalars(select(Comment.user_id).where(Comment.request_id == row.id))}
    if row.decided_by is not None:
        people.add(row.decided_by)
    state = effective_state(row, work.now)
    if state is RequestState.PENDING:
        people.update(deciders(work, row.product_id))
    elif state is RequestState.APPROVED:
        people.update(fulfillers(work, row.product_id))
    return people


def _as_record(row: Comment, name: str, display_name: str) -> records.Comment:
    return record_of(records.Comment, row, by_name=name, by_display_name=display_name)


# Requests whose time is over, or nearly: the worker writes it down and notifies


def any_due(work: Work) -> bool:
    """Whether `expire_due` would find something."""
    query = select(Request.id).where(Request.state.in_(OPEN_REQUESTS), Request.expires_at <= work.now).limit(1)
    return work.session.scalar(query) is not None


def expire_due(work: Work) -> int:
    """Write down that requests past their end are expired; gives how many. Done by the worker."""
    due = work.session.scalars(
        select(Request)
        .where(Request.state.in_(OPEN_REQUESTS), Request.expires_at <= work.now)
        .order_by(Request.expires_at)
        .limit(_TOGETHER)
        .with_for_update(skip_locked=True)
    ).all()
    for row in due:
        before = row.state
        check_step(before, RequestState.EXPIRED, what="the request")
        row.state, row.changed_at = RequestState.EXPIRED, work.now
        work.record("request expired", row, state=row.state)
        notify_of_request(work, [row.consumer_id], NotificationKind.EXPIRED, row, _OVER[before])
    return len(due)


_OVER = {
    RequestState.PENDING: "Your request for {product} lapsed: nobody decided it in time. You may ask again.",
    RequestState.APPROVED: "Your request for {product} lapsed before its release was made. You may ask again.",
    RequestState.PROVISIONED: "Your access to {product} has ended.",
}


def notify_expiring(work: Work) -> int:
    """Notify whoever is next that a request will end soon, once for each end that it has; gives how many are near.

    Of access for a few days people are notified in its last quarter.
    """
    until = work.now + datetime.timedelta(days=work.settings.expiring_days)
    near = work.session.scalars(
        select(Request)
        .where(Request.state.in_(OPEN_REQUESTS), Request.expires_at > work.now, Request.expires_at <= until)
        .order_by(Request.expires_at)
    ).all()
    keys = {_key(row): row for row in near if _is_near(work, row)}
    listed = list(keys)
    for start in range(0, len(listed), _TOGETHER):
        some = listed[start : start + _TOGETHER]
        already = set(work.session.scalars(select(Notification.key).where(Notification.key.in_(some))))
        for key in some:
            if key not in already:
                _remind(work, keys[key], key)
    return len(listed)


def _is_near(work: Work, row: Request) -> bool:
    assert row.expires_at is not None
    quarter = datetime.timedelta(days=row.days) / 4
    return row.state == RequestState.PENDING or row.expires_at - work.now <= quarter


def _remind(work: Work, row: Request, key: str) -> None:
    assert row.expires_at is not None
    day = f"{row.expires_at.day} {row.expires_at:%B %Y}"
    if row.state is RequestState.PENDING:
        people = deciders(work, row.product_id)
        words = "{consumer}’s request for {product} waits for a decision; it lapses"
    elif row.state is RequestState.APPROVED:
        people = fulfillers(work, row.product_id)
        words = "The release of {product} for {consumer} is still to be made; it lapses"
    else:
        people, words = [row.consumer_id], "Your access to {product} ends"
    notify_of_request(work, people, NotificationKind.EXPIRING, row, f"{words} on {day}.", key=key)


def _key(row: Request) -> str:
    assert row.expires_at is not None
    return f"{NotificationKind.EXPIRING.value} {row.id} {int(row.expires_at.timestamp())}"


def database_time(work: Work) -> datetime.datetime:
    """What time it is for the database; for a file that is this machine's own clock."""
    if work.session.get_bind().dialect.name != "postgresql":
        return work.now
    return work.session.execute(select(func.now())).scalar_one()
