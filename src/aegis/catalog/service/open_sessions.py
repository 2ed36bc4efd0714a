"""One's own sessions: where one is signed in, and ending what one does not know."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, select

from aegis.catalog import records
from aegis.catalog.database.tables import SignIn
from aegis.catalog.records import record_of
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.passwords import hash_of
from aegis.catalog.service.permissions import Permission, require
from aegis.errors import NotFoundError

MOST = 100


def list_sessions(work: Work, *, secret: str | None = None) -> tuple[records.Session, ...]:
    """One's open sessions, the latest used first. A token does not see them.

    That with this ``secret`` is the one that asks.
    """
    require(work.actor, Permission.MANAGE_OWN_SESSIONS)
    here = None if secret is None else hash_of(secret)
    return tuple(record_of(records.Session, row, id=_id(row), here=row.hash == here) for row in _open(work))


def end_session(work: Work, *, session_id: str) -> None:
    """End one of one's own sessions; whoever uses it has to sign in again."""
    require(work.actor, Permission.MANAGE_OWN_SESSIONS)
    row = next((row for row in _open(work) if _id(row) == session_id), None)
    if row is None:
        raise NotFoundError("there is no such session, or it is over already; look at the list of your sessions")
    _end(work, [row])


def end_others(work: Work, *, secret: str) -> int:
    """End all of one's sessions but this one; gives how many."""
    require(work.actor, Permission.MANAGE_OWN_SESSIONS)
    others = work.session.scalars(select(SignIn).where(*_mine(work), SignIn.hash != hash_of(secret))).all()
    _end(work, others)
    return len(others)


def _open(work: Work) -> list[SignIn]:
    latest = select(SignIn).where(*_mine(work)).order_by(SignIn.last_seen_at.desc())
    return list(work.session.scalars(latest.limit(MOST)))


def _mine(work: Work) -> tuple[ColumnElement[bool], ...]:
    return SignIn.user_id == work.actor.user_id, SignIn.expires_at > work.now


def _end(work: Work, rows: Sequence[SignIn]) -> None:
    for row in rows:
        work.session.delete(row)
        work.record("session ended", ("user", row.user_id))
    work.session.flush()


def _id(row: SignIn) -> str:
    """What a session is called: made from the hash of its secret, which it does not give away."""
    return hash_of(f"session {row.hash}")[:32]
