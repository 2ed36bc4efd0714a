"""People and their roles, for administrators; and whoever asks, for themselves."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.records import Page
from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import IdPath
from aegis.catalog.server.api.calls import JsonRoute, Paged, Read, Write
from aegis.catalog.service import open_sessions, overview, people
from aegis.catalog.service.catalog import Work

router = APIRouter(tags=["people"], route_class=JsonRoute)


@router.get("/me", response_model=records.Me, summary="Who am I?")
def me(call: Read) -> Any:
    """The person whose token or session this is, their roles, and what the token may be used for."""
    with call.read() as work:
        return people.me(work)


@router.get("/overview", response_model=records.Overview, summary="What waits for me?")
def start_page(call: Read) -> Any:
    """How much there is, and what waits for this person."""
    with call.read() as work:
        return overview.overview(work)


@router.get("/users", response_model=Page[records.User], summary="Everybody")
def list_users(call: Read, page: Paged) -> Any:
    """Everybody, by name."""
    with call.read() as work:
        return people.list_users(work, page=page)


@router.post("/users", response_model=records.Link, status_code=201, summary="Invite somebody")
def invite(call: Write, user: bodies.NewUser) -> Response:
    """A new person, and the secret of the link with which they choose a password."""
    return call.once(
        records.Link,
        lambda work: people.create_user(work, name=user.name, display_name=user.display_name),
        body=user,
        status=201,
        secret="secret",  # noqa: S106 - the name of a field
    )


@router.get("/users/{user_id}", response_model=records.User, summary="One person")
def one(call: Read, user_id: IdPath) -> Any:
    """One person."""
    with call.read() as work:
        return people.user(work, user_id=user_id)


@router.patch("/users/{user_id}", response_model=records.User, summary="Switch somebody off or on")
def change(call: Write, user_id: IdPath, change: bodies.UserChange) -> Response:
    """Somebody who is switched off is signed out at once, and their tokens stop working."""
    return call.once(
        records.User, lambda work: people.set_active(work, user_id=user_id, active=change.active), body=change
    )


@router.post("/users/{user_id}/reset", response_model=records.Link, status_code=201, summary="Forgotten password")
def reset(call: Write, user_id: IdPath) -> Response:
    """The secret of a link with which this person chooses another password."""
    return call.once(
        records.Link,
        lambda work: people.reset_link(work, user_id=user_id),
        status=201,
        secret="secret",  # noqa: S106 - the name of a field
    )


@router.post("/users/{user_id}/roles", response_model=records.User, summary="Give a role")
def assign(call: Write, user_id: IdPath, role: bodies.NewRole) -> Response:
    """Give a role, for one product or for all."""
    return call.once(
        records.User,
        lambda work: people.assign(work, user_id=user_id, role=role.role, product=role.product),
        body=role,
    )


@router.post("/users/{user_id}/roles/remove", response_model=records.User, summary="Take a role away")
def unassign(call: Write, user_id: IdPath, role: bodies.NewRole) -> Response:
    """Take a role away; the last administrator stays."""
    return call.once(
        records.User,
        lambda work: people.unassign(work, user_id=user_id, role=role.role, product=role.product),
        body=role,
    )


@router.get("/sessions", response_model=records.Sessions, summary="Where am I signed in?")
def list_sessions(call: Read, request: Request) -> Any:
    """One's own open sessions. A token does not see them."""
    with call.read() as work:
        return records.Sessions(items=open_sessions.list_sessions(work, secret=request.state.identity.secret))


@router.post("/sessions/{session_id}/end", response_model=records.Sessions, summary="End a session")
def end_session(call: Write, request: Request, session_id: IdPath) -> Response:
    """Whoever uses it has to sign in again; gives what is left."""
    secret = request.state.identity.secret

    def end(work: Work) -> records.Sessions:
        open_sessions.end_session(work, session_id=session_id)
        return records.Sessions(items=open_sessions.list_sessions(work, secret=secret))

    return call.once(records.Sessions, end)
