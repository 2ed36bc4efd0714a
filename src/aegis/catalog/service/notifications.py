"""People are notified when it is their turn: one sentence each, in their inbox and by the way that they chose.

A notification is written in the transaction of the act that it is about, with the delivery that takes it elsewhere
(`outbox`). Its words name people, products and what happened, never what somebody wrote in a purpose or a reason.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, cast

from sqlalchemy import CursorResult, delete, func, or_, select, update

from aegis.catalog import records
from aegis.catalog.database.tables import (
    Assignment,
    Delivery,
    Notification,
    NotificationChoice,
    Product,
    Request,
    User,
    is_id,
)
from aegis.catalog.records import Page, UserRole, record_of
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.paging import FIRST, PageRequest, page_of
from aegis.catalog.service.permissions import Permission, require
from aegis.catalog.service.sessions import role_counts
from aegis.catalog.states import ON_ITS_WAY, DeliveryState
from aegis.errors import NotFoundError


class NotificationKind(StrEnum):
    """What a notification is about."""

    ASKED = "asked"
    APPROVED = "approved"
    TO_FULFIL = "to fulfil"
    REJECTED = "rejected"
    READY = "ready"
    REFUSED = "refused"
    LEDGER_REFUSED = "ledger refused"
    REVOKED = "revoked"
    WITHDRAWN = "withdrawn"
    EXPIRING = "expiring"
    EXPIRED = "expired"
    REINSTATED = "reinstated"
    COMMENTED = "commented"
    UNDELIVERED = "undelivered"


class Channel(StrEnum):
    """Where a notification goes beside the inbox."""

    INBOX = "inbox"
    MAIL = "mail"
    WEBHOOK = "webhook"


def deciders(work: Work, product_id: str) -> list[str]:
    """Who decides about a product: its experts, or the administrators where it has none."""
    return _holders(work, UserRole.EXPERT, product_id) or _holders(work, UserRole.ADMIN, None)


def fulfillers(work: Work, product_id: str) -> list[str]:
    """Who makes the releases of a product: its providers, or the administrators where it has none."""
    return _holders(work, UserRole.PROVIDER, product_id) or _holders(work, UserRole.ADMIN, None)


def _holders(work: Work, role: UserRole, product_id: str | None) -> list[str]:
    everywhere = Assignment.product_id.is_(None)
    chosen = (
        select(Assignment.user_id)
        .join(User, role_counts(work.now))
        .where(
            Assignment.role == role.value,
            User.active,
            everywhere if product_id is None else or_(everywhere, Assignment.product_id == product_id),
        )
    )
    return sorted(set(work.session.scalars(chosen)))


def notify_of_request(
    work: Work, people: Iterable[str], kind: NotificationKind, request: Request, words: str, *, key: str | None = None
) -> None:
    """Notify people of a step of a request; ``{product}`` and ``{consumer}`` in the words are filled in.

    Whoever did it is not notified, and of one step of a request each person is notified once.
    """
    recipients = set(people) - {work.actor.user_id}
    if not recipients:
        return
    title = work.session.get_one(Product, request.product_id).title
    consumer = work.session.get_one(User, request.consumer_id)
    moment = int(request.changed_at.timestamp() * 1_000_000)
    notify(
        work,
        recipients,
        kind,
        words=words.format(product=f"“{title}”", consumer=consumer.display_name or consumer.name),
        path=f"/requests/{request.id}",
        product_id=request.product_id,
        key=key or f"{kind.value} {request.id} {moment}",
    )


def notify(
    work: Work,
    people: Iterable[str],
    kind: NotificationKind,
    *,
    words: str,
    path: str,
    product_id: str | None = None,
    key: str | None = None,
    inbox_only: bool = False,
) -> None:
    """Write a notification for each of these people, and the delivery that takes it to them.

    With a ``key`` the same person is notified of the same thing once.
    """
    recipients = sorted(set(people))
    if key is not None:
        notified_before = select(Notification.user_id).where(
            Notification.key == key, Notification.user_id.in_(recipients)
        )
        recipients = sorted(set(recipients) - set(work.session.scalars(notified_before)))
    if not recipients:
        return
    choices = {
        choice.user_id: choice
        for choice in work.session.scalars(select(NotificationChoice).where(NotificationChoice.user_id.in_(recipients)))
    }
    for user_id in recipients:
        row = Notification(
            user_id=user_id,
            kind=kind.value,
            words=words,
            path=path,
            product_id=product_id,
            key=key,
            created_at=work.now,
        )
        work.session.add(row)
        channel = Channel.INBOX if inbox_only else channel_of(work, choices.get(user_id))
        if channel is not Channel.INBOX:
            work.session.flush()
            enqueue(work, user_id=user_id, channel=channel, notification_id=row.id)
    work.session.flush()


def channel_of(work: Work, choice: NotificationChoice | None) -> Channel:
    """The channel of somebody now: an address that was not confirmed, or a catalog without mail, is none."""
    if choice is None:
        return Channel.INBOX
    if choice.channel == Channel.MAIL:
        usable = choice.mail_confirmed_at is not None and work.settings.smtp_host
        return Channel.MAIL if usable else Channel.INBOX
    return Channel(choice.channel)


def enqueue(work: Work, *, user_id: str, channel: Channel, notification_id: str | None) -> None:
    """Put something into the outbox; mails to one person keep a distance, so that many things come in one mail."""
    due = work.now
    if channel is Channel.MAIL and notification_id is not None:
        last = work.session.scalar(
            select(func.max(Delivery.ended_at)).where(
                Delivery.user_id == user_id,
                Delivery.channel == channel.value,
                Delivery.state == DeliveryState.SENT,
                Delivery.notification_id.is_not(None),
            )
        )
        if last is not None:
            due = max(due, last + datetime.timedelta(seconds=work.settings.mail_pause_seconds))
    work.session.add(
        Delivery(
            user_id=user_id,
            notification_id=notification_id,
            channel=channel.value,
            state=DeliveryState.WAITING,
            attempts=0,
            due_at=due,
            created_at=work.now,
        )
    )


def list_notifications(work: Work, *, unseen: bool = False, page: PageRequest = FIRST) -> Page[records.Notification]:
    """One's notifications, the newest first."""
    require(work.actor, Permission.SEE_OWN_NOTIFICATIONS)
    query = select(Notification, Product.name).outerjoin(Product, Product.id == Notification.product_id)
    query = query.where(Notification.user_id == work.actor.user_id)
    if unseen:
        query = query.where(Notification.seen_at.is_(None))
    keys = (Notification.created_at, Notification.id)
    return page_of(work.session, query, _as_record, keys=keys, page=page, descending=True)


def see(work: Work, *, notification_id: str) -> records.Notification:
    """Mark one notification as read; twice is no error."""
    require(work.actor, Permission.MARK_NOTIFICATIONS)
    row = work.session.get(Notification, notification_id) if is_id(notification_id) else None
    if row is None or row.user_id != work.actor.user_id:
        raise NotFoundError("there is no such notification; look at your inbox")
    row.seen_at = row.seen_at or work.now
    work.session.flush()
    product = None if row.product_id is None else work.session.get(Product, row.product_id)
    return _as_record(row, None if product is None else product.name)


def see_all(work: Work) -> int:
    """Note that everything was read; gives how many were new."""
    require(work.actor, Permission.MARK_NOTIFICATIONS)
    mine = update(Notification).where(Notification.user_id == work.actor.user_id)
    seen = work.session.execute(mine.where(Notification.seen_at.is_(None)).values(seen_at=work.now))
    return cast(CursorResult[Any], seen).rowcount


def forget_old(work: Work) -> int:
    """Remove what is older than the settings keep it; gives how many. Done by the worker."""
    before = work.now - datetime.timedelta(days=work.settings.notification_days)
    old = list(work.session.scalars(select(Notification.id).where(Notification.created_at < before).limit(500)))
    on_its_way = set(
        work.session.scalars(
            select(Delivery.notification_id).where(Delivery.notification_id.in_(old), Delivery.state.in_(ON_ITS_WAY))
        )
    )
    gone = [ident for ident in old if ident not in on_its_way]
    work.session.execute(delete(Delivery).where(Delivery.notification_id.in_(gone)))
    work.session.execute(delete(Notification).where(Notification.id.in_(gone)))
    return len(gone)


def _as_record(row: Notification, product_name: str | None) -> records.Notification:
    return record_of(records.Notification, row, product_name=product_name)
