"""What people say to each other about a request: its consumer and those who work on the product read it."""

from __future__ import annotations

from sqlalchemy import bindparam, func, select

from aegis.catalog import records
from aegis.catalog.database.tables import Comment, Request, User
from aegis.catalog.records import record_of
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.checks import checked_text
from aegis.catalog.service.notifications import NotificationKind, deciders, fulfillers, notify
from aegis.catalog.service.permissions import Permission
from aegis.catalog.service.request_steps import effective_state
from aegis.catalog.service.requests import seen_request
from aegis.catalog.states import RequestState
from aegis.errors import ConflictError

MOST = 200
_LONGEST = 5_000


def comment(work: Work, *, request_id: str, words: str) -> records.Comment:
    """Say something about a request; those who take part are notified."""
    row = seen_request(work, request_id, Permission.COMMENT, lock=True)
    text = checked_text(words, what="the comment", least=1, most=_LONGEST)
    if (work.session.scalar(select(func.count()).where(Comment.request_id == row.id)) or 0) >= MOST:
        raise ConflictError(f"a request has at most {MOST} comments; ask again, or write a mail")
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
