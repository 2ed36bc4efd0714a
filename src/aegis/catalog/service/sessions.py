"""Signing in and out: passwords, sessions, and whose session or token a request carries (one query).

Failed sign-ins are counted by name and address; after a few, the next from there has to wait. Argon2 is slow on
purpose, so `sign_in` opens short transactions of its own and holds no lock of the database meanwhile.
"""

from __future__ import annotations

import datetime
import hashlib
import math
import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError
from sqlalchemy import ColumnElement, bindparam, delete, func, or_, select, text, update

from aegis.catalog import records
from aegis.catalog.database.tables import (
    Assignment,
    Attempt,
    HalfSignIn,
    Notification,
    SecondFactor,
    SignIn,
    Token,
    User,
    UtcTime,
)
from aegis.catalog.records import Scope, record_of
from aegis.catalog.service.catalog import Catalog, Work
from aegis.catalog.service.checks import printable
from aegis.catalog.service.permissions import ANONYMOUS, Actor, Held, Permission, require
from aegis.catalog.settings import Settings
from aegis.errors import InputError, NotFoundError, NotSignedInError, TooManyAttemptsError

_NOTED = datetime.timedelta(minutes=5)
"""How often the last use is written down: a page must not cost a write."""


_WRONG = "the name or the password is wrong"
_ELSEWHERE = "this catalog signs people in with their organisation's account; passwords are not used here"
_LONGEST_PAUSE_S = 60.0
_HALF_MINUTES = 5

# Columns and not objects: somebody may hold a role for each of a thousand products.
_PERSON = (
    User.id,
    User.name,
    User.display_name,
    User.active,
    Assignment.role,
    Assignment.product_id.label("role_product"),
)


_new_ones = (
    select(Notification.id)
    .where(Notification.user_id == User.id, Notification.seen_at.is_(None))
    .correlate(User)
    .limit(100)  # nobody counts further, and every page asks
    .subquery()
)
_UNSEEN = select(func.count()).select_from(_new_ones).scalar_subquery()


def role_counts(now: datetime.datetime | ColumnElement[datetime.datetime]) -> ColumnElement[bool]:
    """Joins a person to their roles that count now: those given here, and those of groups that were seen lately."""
    return (Assignment.user_id == User.id) & or_(Assignment.valid_until.is_(None), Assignment.valid_until > now)


# Every request asks one of these: they are built once, and asked on a bare connection.
_ROLE_COUNTS = role_counts(bindparam("now", type_=UtcTime()))
_OF_SESSION = (
    select(*_PERSON, SignIn.csrf, SignIn.expires_at, SignIn.last_seen_at, _UNSEEN.label("unseen"))
    .join(SignIn, SignIn.user_id == User.id)
    .outerjoin(Assignment, _ROLE_COUNTS)
    .where(SignIn.hash == bindparam("hash"))
)
_OF_TOKEN = (
    select(
        *_PERSON,
        Token.id.label("token_id"),
        Token.scopes,
        Token.product_id.label("token_product"),
        Token.expires_at,
        Token.revoked_at,
        Token.last_used_at,
    )
    .join(Token, Token.user_id == User.id)
    .outerjoin(Assignment, _ROLE_COUNTS)
    .where(Token.hash == bindparam("hash"))
)
_OF_USER = select(*_PERSON).outerjoin(Assignment, _ROLE_COUNTS).where(User.id == bindparam("user_id"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """A new session: ``secret`` belongs into the cookie, ``csrf`` into every form. Neither is ever shown again."""

    secret: str = field(repr=False)
    csrf: str = field(repr=False)
    actor: Actor
    expires_at: datetime.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionActor:
    """Whose session it is."""

    actor: Actor
    csrf: str = field(repr=False)
    unseen: int = 0
    """How many notifications are new, up to a hundred."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfSignedIn:
    """The password was right: ``secret`` belongs into a cookie until the second factor is proved, or set up."""

    secret: str = field(repr=False)
    name: str
    must_enrol: bool


def sign_in(catalog: Catalog, *, name: str, password: str, address: str) -> SignedIn:
    """Sign in with a password alone; `NotSignedInError` where it is wrong, or where a second factor is asked for."""
    began = begin_sign_in(catalog, name=name, password=password, address=address)
    if isinstance(began, HalfSignedIn):
        raise NotSignedInError("the password alone is not enough: a code of the second factor is needed too")
    return began


def begin_sign_in(catalog: Catalog, *, name: str, password: str, address: str) -> SignedIn | HalfSignedIn:
    """Check a password and open a session, or half of one where a second factor is asked for.

    `NotSignedInError` when it is wrong, and equally slow for unknown names. After a few failures for a name from an
    address `TooManyAttemptsError` says when to try again from there.
    """
    if not catalog.settings.local_accounts:
        raise NotSignedInError(_ELSEWHERE)
    if not isinstance(name, str) or len(name) > 64 or not printable(name):
        raise NotSignedInError(_WRONG)
    with catalog.write(ANONYMOUS) as work:
        begin_attempt(work, name=name, address=address)
        person = work.session.scalar(select(User).where(User.name == name))
    password_hash = person.password_hash if person is not None and person.active else None
    if not is_password(catalog.settings, password_hash, password):
        with catalog.write(ANONYMOUS) as work:
            if person is not None:
                work.record("sign-in failed", person)
        raise NotSignedInError(_WRONG)
    assert person is not None
    with catalog.write(ANONYMOUS) as work:
        now = work.session.get(User, person.id, with_for_update={"key_share": True}, populate_existing=True)
        if now is None or now.password_hash != password_hash:
            raise NotSignedInError(_WRONG)  # another password was chosen while this one was compared
        attempt_succeeded(work, name=name, address=address)
        factor = work.session.get(SecondFactor, person.id)
        has_factor = factor is not None and factor.confirmed_at is not None
        if has_factor or work.settings.second_factor_required:
            return _half_session(work, person, must_enrol=not has_factor)
        return open_session(work, user_id=person.id, by="password")


def open_session(work: Work, *, user_id: str, by: str) -> SignedIn:
    """A session for somebody who proved who they are, on the record; not for who was switched off meanwhile."""
    rows = person_rows(work, user_id)
    if not rows or not rows[0].active:
        raise NotSignedInError(_WRONG)
    secret, csrf = new_secret(), new_secret()
    work.actor = actor = actor_of_rows(rows)
    expires = work.now + datetime.timedelta(hours=work.settings.session_hours)
    work.session.execute(delete(SignIn).where(SignIn.expires_at < work.now))
    work.session.add(
        SignIn(
            hash=hash_of(secret),
            user_id=user_id,
            csrf=csrf,
            created_at=work.now,
            expires_at=expires,
            last_seen_at=work.now,
        )
    )
    work.record("signed in", ("user", user_id), by=by)
    return SignedIn(secret=secret, csrf=csrf, actor=actor, expires_at=expires)


def _half_session(work: Work, person: User, *, must_enrol: bool) -> HalfSignedIn:
    secret = new_secret()
    work.session.execute(delete(HalfSignIn).where(HalfSignIn.expires_at < work.now))
    expires = work.now + datetime.timedelta(minutes=_HALF_MINUTES)
    work.session.add(HalfSignIn(hash=hash_of(secret), user_id=person.id, expires_at=expires))
    return HalfSignedIn(secret=secret, name=person.name, must_enrol=must_enrol)


def sign_out(work: Work, *, secret: str) -> None:
    """End the session; nothing happens where there is none."""
    session = work.session.get(SignIn, hash_of(secret))
    if session is not None:
        work.session.delete(session)
        work.record("signed out", ("user", session.user_id))


def actor_of_session(catalog: Catalog, *, secret: str) -> SessionActor:
    """Whose session it is; `NotSignedInError` where it is unknown, over, or its owner was switched off."""
    key = hash_of(secret)
    now = catalog.clock()
    with catalog.look() as connection:
        rows = connection.execute(_OF_SESSION, {"hash": key, "now": now}).all()
    if not rows or not rows[0].active or rows[0].expires_at <= now:
        raise NotSignedInError("the session is over; sign in again")
    if now - rows[0].last_seen_at > _NOTED:
        with catalog.write(ANONYMOUS) as work:
            work.session.execute(update(SignIn).where(SignIn.hash == key).values(last_seen_at=now))
    return SessionActor(actor=actor_of_rows(rows), csrf=rows[0].csrf, unseen=rows[0].unseen)


def actor_of_token(catalog: Catalog, *, text: str) -> Actor:
    """Whose token it is; `NotSignedInError` where it is unknown, expired, revoked, or its owner was switched off."""
    key = hash_of(text)
    now = catalog.clock()
    with catalog.look() as connection:
        rows = connection.execute(_OF_TOKEN, {"hash": key, "now": now}).all()
    token = rows[0] if rows else None
    if token is None or token.revoked_at is not None or token.expires_at <= now or not token.active:
        raise NotSignedInError("the token is unknown, expired or revoked; make another one")
    if token.last_used_at is None or now - token.last_used_at > _NOTED:
        with catalog.write(ANONYMOUS) as work:
            work.session.execute(update(Token).where(Token.id == token.token_id).values(last_used_at=now))
    return actor_of_rows(rows, scopes=frozenset(map(Scope, token.scopes)), token_product=token.token_product)


def actor_of_user(catalog: Catalog, *, user_id: str) -> Actor:
    """Somebody as whom the catalog itself acts: its own example, its own demonstration."""
    with catalog.read(ANONYMOUS) as work:
        rows = person_rows(work, user_id)
    if not rows or not rows[0].active:
        raise NotSignedInError("there is no such person, or they were switched off")
    return actor_of_rows(rows)


def person_rows(work: Work, user_id: str) -> Sequence[Any]:
    """Somebody, once for each of their roles."""
    return work.session.execute(_OF_USER, {"user_id": user_id, "now": work.now}).all()


def actor_of_rows(
    rows: Sequence[Any], *, scopes: frozenset[Scope] | None = None, token_product: str | None = None
) -> Actor:
    """The actor of rows that hold a person and one of their roles each."""
    roles = {Held(role=row.role, product_id=row.role_product) for row in rows if row.role is not None}
    return Actor(
        user_id=rows[0].id,
        name=rows[0].name,
        display_name=rows[0].display_name,
        roles=frozenset(roles),
        scopes=scopes,
        token_product=token_product,
    )


def begin_attempt(work: Work, *, name: str, address: str) -> None:
    """Count an attempt as failed before it is made; `TooManyAttemptsError` while it comes too early.

    Nobody is locked out: after a few failures for a name from an address the next try *from there* has to wait, each
    time twice as long up to a minute. Elsewhere the same name signs in as always. That a try counts before its outcome
    is known holds the limit for tries at the same moment as well.
    """
    if work.session.get_bind().dialect.name == "postgresql":
        number = int.from_bytes(hashlib.sha256(f"{name} {address}".encode()).digest()[:7], "big")
        work.session.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": number})
    window = datetime.timedelta(minutes=work.settings.sign_in_window_minutes)
    work.session.execute(delete(Attempt).where(Attempt.at < work.now - 4 * window))
    failures, last = work.session.execute(
        select(func.count(), func.max(Attempt.at)).where(
            Attempt.name == name, Attempt.address == address, Attempt.at > work.now - window
        )
    ).one()
    free = work.settings.sign_in_failures
    if failures >= free:
        pause_s = min(2.0 ** min(failures - free, 30), _LONGEST_PAUSE_S)
        left_s = pause_s - (work.now - last).total_seconds()
        if left_s > 0:
            wait = math.ceil(left_s)
            raise TooManyAttemptsError(
                f"too many sign-ins failed; the next one may come in {wait} seconds", retry_after_seconds=wait
            )
    work.session.add(Attempt(name=name, address=address, at=work.now))


def attempt_succeeded(work: Work, *, name: str, address: str) -> None:
    """The failures of this name from this address are forgotten."""
    work.session.execute(delete(Attempt).where(Attempt.name == name, Attempt.address == address))


# One's own sessions: where one is signed in, and ending what one does not know

MOST_SESSIONS = 100


def list_sessions(work: Work, *, secret: str | None = None) -> tuple[records.Session, ...]:
    """One's open sessions, the latest used first. A token does not see them.

    That with this ``secret`` is the one that asks.
    """
    require(work.actor, Permission.MANAGE_OWN_SESSIONS)
    here = None if secret is None else hash_of(secret)
    return tuple(record_of(records.Session, row, id=_id(row), here=row.hash == here) for row in _open_ones(work))


def end_session(work: Work, *, session_id: str) -> None:
    """End one of one's own sessions; whoever uses it has to sign in again."""
    require(work.actor, Permission.MANAGE_OWN_SESSIONS)
    row = next((row for row in _open_ones(work) if _id(row) == session_id), None)
    if row is None:
        raise NotFoundError("there is no such session, or it is over already; look at the list of your sessions")
    _end(work, [row])


def end_others(work: Work, *, secret: str) -> int:
    """End all of one's sessions but this one; gives how many."""
    require(work.actor, Permission.MANAGE_OWN_SESSIONS)
    others = work.session.scalars(select(SignIn).where(*_of_mine(work), SignIn.hash != hash_of(secret))).all()
    _end(work, others)
    return len(others)


def _open_ones(work: Work) -> list[SignIn]:
    latest = select(SignIn).where(*_of_mine(work)).order_by(SignIn.last_seen_at.desc())
    return list(work.session.scalars(latest.limit(MOST_SESSIONS)))


def _of_mine(work: Work) -> tuple[ColumnElement[bool], ...]:
    return SignIn.user_id == work.actor.user_id, SignIn.expires_at > work.now


def _end(work: Work, rows: Sequence[SignIn]) -> None:
    for row in rows:
        work.session.delete(row)
        work.record("session ended", ("user", row.user_id))
    work.session.flush()


def _id(row: SignIn) -> str:
    """What a session is called: made from the hash of its secret, which it does not give away."""
    return hash_of(f"session {row.hash}")[:32]


# Passwords and other secrets: argon2 for what people choose, a plain hash for what is drawn at random

MOST_CHARACTERS = 512
_AT_ONCE = threading.BoundedSemaphore(4)
"""Each argon2 hash takes tens of megabytes: a crowd that signs in together waits its turn."""


def new_secret() -> str:
    """256 random bits as text."""
    return secrets.token_urlsafe(32)


def hash_of(secret: str) -> str:
    """How a random secret is remembered. It cannot be guessed, so it needs no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def hash_password(settings: Settings, password: Any) -> str:
    """The slow hash of a password that is good enough."""
    if not isinstance(password, str) or not settings.password_characters <= len(password) <= MOST_CHARACTERS:
        raise InputError(f"a password has {settings.password_characters} to {MOST_CHARACTERS} characters")
    if len(set(password)) < 4:
        raise InputError("the password repeats a few characters; choose another one")
    with _AT_ONCE:
        return _hasher(settings).hash(password.encode("utf-8", "surrogatepass"))


def is_password(settings: Settings, password_hash: str | None, password: Any) -> bool:
    """Whether the password is the known one; as slow where none is known, so that names cannot be probed."""
    if not isinstance(password, str) or len(password) > MOST_CHARACTERS:
        return False
    expected = password_hash or _decoy(settings)
    try:
        with _AT_ONCE:
            _hasher(settings).verify(expected, password.encode("utf-8", "surrogatepass"))
    except (VerifyMismatchError, VerificationError, InvalidHashError):
        return False
    return password_hash is not None


@lru_cache(maxsize=8)
def _hasher(settings: Settings) -> PasswordHasher:
    return PasswordHasher(
        time_cost=settings.argon2_time_cost, memory_cost=settings.argon2_memory_kib, parallelism=settings.argon2_lanes
    )


@lru_cache(maxsize=8)
def _decoy(settings: Settings) -> str:
    return _hasher(settings).hash(secrets.token_bytes(32))
