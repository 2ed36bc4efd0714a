"""Whose session or token it is: one query a page."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from sqlalchemy import select, update

from aegis.catalog.database.tables import Assignment, SignIn, Token, User
from aegis.catalog.service.actor import ANONYMOUS, Actor, Held, Scope, UserRole
from aegis.catalog.service.catalog import Catalog, Work
from aegis.catalog.service.passwords import hash_of
from aegis.catalog.service.person_views import SessionActor
from aegis.errors import NotSignedInError

_NOTED = datetime.timedelta(minutes=5)
"""How often the last use is written down: a page must not cost a write."""


# Columns and not objects: somebody may hold a role for each of a thousand products.
_PERSON = (
    User.id,
    User.name,
    User.display_name,
    User.active,
    Assignment.role,
    Assignment.product_id.label("role_product"),
)


def actor_of_session(catalog: Catalog, *, secret: str) -> SessionActor:
    """Whose session it is; `NotSignedInError` where it is unknown, over, or its owner was switched off."""
    key = hash_of(secret)
    with catalog.read(ANONYMOUS) as work:
        rows = work.session.execute(
            select(*_PERSON, SignIn.csrf, SignIn.expires_at, SignIn.last_seen_at)
            .join(SignIn, SignIn.user_id == User.id)
            .outerjoin(Assignment, Assignment.user_id == User.id)
            .where(SignIn.hash == key)
        ).all()
        now = work.now
    if not rows or not rows[0].active or rows[0].expires_at <= now:
        raise NotSignedInError("the session is over; sign in again")
    if now - rows[0].last_seen_at > _NOTED:
        with catalog.write(ANONYMOUS) as work:
            work.session.execute(update(SignIn).where(SignIn.hash == key).values(last_seen_at=now))
    return SessionActor(actor=actor_of_rows(rows), csrf=rows[0].csrf)


def actor_of_token(catalog: Catalog, *, text: str) -> Actor:
    """Whose token it is; `NotSignedInError` where it is unknown, expired, revoked, or its owner was switched off."""
    key = hash_of(text)
    with catalog.read(ANONYMOUS) as work:
        rows = work.session.execute(
            select(*_PERSON, Token)
            .join(Token, Token.user_id == User.id)
            .outerjoin(Assignment, Assignment.user_id == User.id)
            .where(Token.hash == key)
        ).all()
        now = work.now
    token: Token | None = rows[0].Token if rows else None
    if token is None or token.revoked_at is not None or token.expires_at <= now or not rows[0].active:
        raise NotSignedInError("the token is unknown, expired or revoked; make another one")
    if token.last_used_at is None or now - token.last_used_at > _NOTED:
        with catalog.write(ANONYMOUS) as work:
            work.session.execute(update(Token).where(Token.id == token.id).values(last_used_at=now))
    return actor_of_rows(rows, scopes=frozenset(map(Scope, token.scopes)), token_product=token.product_id)


def actor_of_user(catalog: Catalog, *, user_id: str) -> Actor:
    """Somebody as whom the catalog itself acts: its own example, its own demonstration."""
    with catalog.read(ANONYMOUS) as work:
        rows = person_rows(work, user_id)
    if not rows or not rows[0].active:
        raise NotSignedInError("there is no such person, or they were switched off")
    return actor_of_rows(rows)


def person_rows(work: Work, user_id: str) -> Sequence[Any]:
    """Somebody, once for each of their roles."""
    return work.session.execute(
        select(*_PERSON).outerjoin(Assignment, Assignment.user_id == User.id).where(User.id == user_id)
    ).all()


def actor_of_rows(
    rows: Sequence[Any], *, scopes: frozenset[Scope] | None = None, token_product: str | None = None
) -> Actor:
    """The actor of rows that hold a person and one of their roles each."""
    held = {Held(role=UserRole(row.role), product_id=row.role_product) for row in rows if row.role is not None}
    return Actor(
        user_id=rows[0].id,
        name=rows[0].name,
        display_name=rows[0].display_name,
        roles=frozenset(held),
        scopes=scopes,
        token_product=token_product,
    )
