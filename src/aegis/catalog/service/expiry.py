"""Requests whose time is over, or nearly: the worker writes it down and notifies."""

from __future__ import annotations

import datetime

from sqlalchemy import func, select

from aegis.catalog.database.tables import Notification, Request
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.notifications import NotificationKind, deciders, fulfillers, notify_of_request
from aegis.catalog.states import OPEN_REQUESTS, RequestState, check_step

_TOGETHER = 500


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
