"""People and their roles, for administrators; and whoever asks, for themselves."""

from __future__ import annotations

from aegis.catalog import records
from aegis.catalog.records import Page
from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import IdPath
from aegis.catalog.server.api.calls import ApiRouter, Paged, SessionSecret
from aegis.catalog.service import open_sessions, overview, people
from aegis.catalog.service.catalog import Work

router = ApiRouter(tags=["people"])


@router.reads("/me", "Who am I?")
def me(work: Work) -> records.Me:
    """The person whose token or session this is, their roles, and what the token may be used for."""
    return people.me(work)


@router.reads("/overview", "What waits for me?")
def start_page(work: Work) -> records.Overview:
    """How much there is, and what waits for this person."""
    return overview.overview(work)


@router.reads("/users", "Everybody")
def list_users(work: Work, page: Paged) -> Page[records.User]:
    """Everybody, by name."""
    return people.list_users(work, page=page)


@router.writes("/users", "Invite somebody", status=201, secret="secret")  # noqa: S106 - the name of a field
def invite(work: Work, user: bodies.NewUser) -> records.Link:
    """A new person, and the secret of the link with which they choose a password."""
    return people.create_user(work, **user.keywords())


@router.reads("/users/{user_id}", "One person")
def one(work: Work, user_id: IdPath) -> records.User:
    """One person."""
    return people.user(work, user_id=user_id)


@router.writes("/users/{user_id}", "Switch somebody off or on", method="PATCH")
def change(work: Work, user_id: IdPath, change: bodies.UserChange) -> records.User:
    """Somebody who is switched off is signed out at once, and their tokens stop working."""
    return people.set_active(work, user_id=user_id, active=change.active)


@router.writes("/users/{user_id}/reset", "Forgotten password", status=201, secret="secret")  # noqa: S106 - a field
def reset(work: Work, user_id: IdPath) -> records.Link:
    """The secret of a link with which this person chooses another password."""
    return people.reset_link(work, user_id=user_id)


@router.writes("/users/{user_id}/roles", "Give a role")
def assign(work: Work, user_id: IdPath, role: bodies.NewRole) -> records.User:
    """Give a role, for one product or for all."""
    return people.assign(work, user_id=user_id, **role.keywords())


@router.writes("/users/{user_id}/roles/remove", "Take a role away")
def unassign(work: Work, user_id: IdPath, role: bodies.NewRole) -> records.User:
    """Take a role away; the last administrator stays."""
    return people.unassign(work, user_id=user_id, **role.keywords())


@router.reads("/sessions", "Where am I signed in?")
def list_sessions(work: Work, secret: SessionSecret) -> records.Sessions:
    """One's own open sessions. A token does not see them."""
    return records.Sessions(items=open_sessions.list_sessions(work, secret=secret))


@router.writes("/sessions/{session_id}/end", "End a session")
def end_session(work: Work, secret: SessionSecret, session_id: IdPath) -> records.Sessions:
    """Whoever uses it has to sign in again; gives what is left."""
    open_sessions.end_session(work, session_id=session_id)
    return records.Sessions(items=open_sessions.list_sessions(work, secret=secret))
