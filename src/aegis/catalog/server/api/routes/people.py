"""People and their roles, for administrators; and whoever asks, for themselves."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from aegis.catalog.server.api.asking import Paged, Read, Write
from aegis.catalog.server.api.models import given, persons, sent
from aegis.catalog.server.api.models.fields import IdPath, PageOf
from aegis.catalog.service import overview, people

router = APIRouter(tags=["people"])


@router.get("/me", response_model=persons.Me, summary="Who am I?")
def me(asked: Read) -> Any:
    """The person whose token or session this is, their roles, and what the token may be used for."""
    with asked.work() as work:
        found = persons.User.model_validate(people.me(work))
    scopes = None if asked.actor.scopes is None else sorted(asked.actor.scopes)
    return persons.Me(**found.model_dump(), scopes=scopes, token_product=asked.actor.token_product)


@router.get("/overview", response_model=given.Overview, summary="What waits for me?")
def start_page(asked: Read) -> Any:
    """How much there is, and what waits for this person."""
    with asked.work() as work:
        return overview.overview(work)


@router.get("/users", response_model=PageOf[persons.User], summary="Everybody")
def list_users(asked: Read, page: Paged) -> Any:
    """Everybody, by name."""
    with asked.work() as work:
        return people.list_users(work, page=page)


@router.post("/users", response_model=persons.Link, status_code=201, summary="Invite somebody")
def invite(asked: Write, user: sent.NewUser) -> Response:
    """A new person, and the secret of the link with which they choose a password."""
    return asked.once(
        persons.Link,
        lambda work: people.create_user(work, name=user.name, display_name=user.display_name),
        sent=user,
        status=201,
        secret="secret",  # noqa: S106 - the name of a field
    )


@router.get("/users/{user_id}", response_model=persons.User, summary="One person")
def one(asked: Read, user_id: IdPath) -> Any:
    """One person."""
    with asked.work() as work:
        return people.user(work, user_id=user_id)


@router.patch("/users/{user_id}", response_model=persons.User, summary="Switch somebody off or on")
def change(asked: Write, user_id: IdPath, change: sent.UserChange) -> Response:
    """Somebody who is switched off is signed out at once, and their tokens stop working."""
    return asked.once(
        persons.User, lambda work: people.set_active(work, user_id=user_id, active=change.active), sent=change
    )


@router.post("/users/{user_id}/reset", response_model=persons.Link, status_code=201, summary="Forgotten password")
def reset(asked: Write, user_id: IdPath) -> Response:
    """The secret of a link with which this person chooses another password."""
    return asked.once(
        persons.Link,
        lambda work: people.reset_link(work, user_id=user_id),
        status=201,
        secret="secret",  # noqa: S106 - the name of a field
    )


@router.post("/users/{user_id}/roles", response_model=persons.User, summary="Give a role")
def assign(asked: Write, user_id: IdPath, role: sent.NewRole) -> Response:
    """Give a role, for one product or for all."""
    return asked.once(
        persons.User,
        lambda work: people.assign(work, user_id=user_id, role=role.role, product=role.product),
        sent=role,
    )


@router.post("/users/{user_id}/roles/remove", response_model=persons.User, summary="Take a role away")
def unassign(asked: Write, user_id: IdPath, role: sent.NewRole) -> Response:
    """Take a role away; the last administrator stays."""
    return asked.once(
        persons.User,
        lambda work: people.unassign(work, user_id=user_id, role=role.role, product=role.product),
        sent=role,
    )
