"""The outbox: what is to be sent, claimed by one worker at a time and tried until it is gone or given up.

A claim is a short transaction before the message is sent, its end another one after. Two workers never send the same
message. A worker that dies in between is followed by another after ``delivery_seconds``, which sends the same message
under the same id: whoever receives it can tell that they have it already.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, and_, select

from aegis.catalog.database.tables import Delivery, Notification, NotificationChoice, User, new_id
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.notification_choices import new_code
from aegis.catalog.service.notifications import Channel, NotificationKind, notify
from aegis.catalog.states import ON_ITS_WAY, DeliveryState

_TOGETHER = 50
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 30.0, 6 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing in a message."""

    id: str
    kind: str
    words: str
    path: str
    created_at: datetime.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message that this worker now sends: everything that waits for one person on one way, or a code for an address.

    ``id`` stays the same however often it is tried.
    """

    id: str
    channel: Channel
    person: str
    items: tuple[Item, ...]
    mail_address: str | None = None
    code: str | None = field(default=None, repr=False)
    webhook_url: str | None = None
    webhook_secret: str | None = field(default=None, repr=False)
    attempt: int = 1


def any_due(work: Work) -> bool:
    """Whether `claim` would find something."""
    return work.session.scalar(select(Delivery.id).where(_due(work)).limit(1)) is not None


def claim(work: Work, *, worker: str) -> Message | None:
    """The next message that is due, or whose worker fell silent; None if there is none.

    What nobody wants any more, and what was tried too often, ends here.
    """
    while True:
        first = work.session.scalar(
            select(Delivery)
            .where(_due(work))
            .order_by(Delivery.due_at, Delivery.id)
            .limit(1)
            .with_for_update(skip_locked=True)
            .execution_options(populate_existing=True)
        )
        if first is None:
            return None
        listed = _together(work, first)
        for row in listed:
            row.state, row.worker, row.attempts = DeliveryState.SENDING, worker, row.attempts + 1
            row.due_at = work.now + datetime.timedelta(seconds=work.settings.delivery_seconds)
        work.session.flush()
        choice = work.session.get(NotificationChoice, first.user_id, populate_existing=True)
        unwanted = _unwanted(work, first, choice)
        if unwanted is not None:
            _end(work, listed, reason=unwanted)
            work.session.flush()
            continue
        assert choice is not None
        return _message(work, first, listed, choice)


def _unwanted(work: Work, first: Delivery, choice: NotificationChoice | None) -> str | None:
    """Why this is not sent any more; None where it is."""
    if first.attempts > work.settings.delivery_attempts:
        return "it was tried too often"
    if choice is None or choice.channel != first.channel:
        return "another channel was chosen meanwhile"
    if first.channel == Channel.MAIL:
        if not work.settings.smtp_host:
            return "the catalog sends no mail any more"
        is_code = first.notification_id is None
        if is_code == (choice.mail_confirmed_at is not None):
            return "the mail address was changed meanwhile"
    return None


def _message(work: Work, first: Delivery, listed: list[Delivery], choice: NotificationChoice) -> Message:
    newest = work.session.scalars(
        select(Notification)
        .where(Notification.id.in_([row.notification_id for row in listed if row.notification_id is not None]))
        .order_by(Notification.created_at, Notification.id)
    ).all()
    person = work.session.get_one(User, first.user_id)
    assert first.batch is not None
    return Message(
        id=first.batch,
        channel=Channel(first.channel),
        person=person.display_name or person.name,
        items=tuple(
            Item(id=row.id, kind=row.kind, words=row.words, path=row.path, created_at=row.created_at) for row in newest
        ),
        mail_address=choice.mail_address,
        code=new_code(work, user_id=first.user_id) if first.notification_id is None else None,
        webhook_url=choice.webhook_url,
        webhook_secret=choice.webhook_secret,
        attempt=first.attempts,
    )


def _together(work: Work, first: Delivery) -> list[Delivery]:
    """What goes in the same message: as before where it was tried before, else every mail that waits for this person.

    A webhook and a code are messages of their own.
    """
    if first.batch is not None:
        same = Delivery.batch == first.batch
        return list(work.session.scalars(select(Delivery).where(same).order_by(Delivery.id).with_for_update()))
    listed = [first]
    if first.channel == Channel.MAIL and first.notification_id is not None:
        listed += work.session.scalars(
            select(Delivery)
            .where(
                Delivery.user_id == first.user_id,
                Delivery.channel == first.channel,
                Delivery.state == DeliveryState.WAITING,
                Delivery.batch.is_(None),
                Delivery.notification_id.is_not(None),
                Delivery.id != first.id,
            )
            .order_by(Delivery.created_at, Delivery.id)
            .limit(_TOGETHER - 1)
            .with_for_update(skip_locked=True)
        ).all()
    batch = new_id()
    for row in listed:
        row.batch = batch
    return listed


def sent(work: Work, *, message_id: str, worker: str) -> bool:
    """It was accepted; False where another worker has it meanwhile."""
    listed = _owned(work, message_id, worker)
    for row in listed:
        row.state, row.reason, row.ended_at = DeliveryState.SENT, None, work.now
    return bool(listed)


def not_sent(work: Work, *, message_id: str, worker: str, reason: str, for_good: bool) -> bool:
    """It was not accepted: tried again later, each time after twice as long, or given up and said so in the inbox."""
    listed = _owned(work, message_id, worker)
    if not listed:
        return False
    attempts = max(row.attempts for row in listed)
    if for_good or attempts >= work.settings.delivery_attempts:
        _end(work, listed, reason=reason)
        notify(
            work,
            [listed[0].user_id],
            NotificationKind.UNDELIVERED,
            words=f"A message could not be delivered by {listed[0].channel}: {reason}.",
            path="/account",
            key=f"{NotificationKind.UNDELIVERED.value} {message_id}",
            inbox_only=True,
        )
        return True
    pause_s = min(_FIRST_PAUSE_S * 2.0 ** (attempts - 1), _LONGEST_PAUSE_S)
    for row in listed:
        row.state, row.reason, row.worker = DeliveryState.WAITING, reason, None
        row.due_at = work.now + datetime.timedelta(seconds=pause_s)
    return True


def release(work: Work, *, message_id: str, worker: str) -> None:
    """This worker was told to stop before it began to send."""
    for row in _owned(work, message_id, worker):
        row.state, row.due_at, row.worker, row.attempts = DeliveryState.WAITING, work.now, None, row.attempts - 1


def _end(work: Work, listed: list[Delivery], *, reason: str) -> None:
    for row in listed:
        row.state, row.reason, row.ended_at = DeliveryState.FAILED, reason, work.now


def _owned(work: Work, message_id: str, worker: str) -> list[Delivery]:
    mine = (Delivery.batch == message_id, Delivery.state == DeliveryState.SENDING, Delivery.worker == worker)
    return list(work.session.scalars(select(Delivery).where(*mine).with_for_update()))


def _due(work: Work) -> ColumnElement[bool]:
    """What waits, and what a worker claimed so long ago that it must have died."""
    return and_(Delivery.state.in_(ON_ITS_WAY), Delivery.due_at <= work.now)
