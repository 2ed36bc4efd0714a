"""How people come in: links that work once, sessions, tokens. Their secrets are in no repr."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from pydantic import Field

from aegis.catalog.records.people_records import Scope, User


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """Whom a link is for, before it is used."""

    purpose: str
    user_name: str | None
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link that works once."""

    secret: Annotated[str, Field(description="Shown now and never again; empty when the same request is repeated.")] = (
        field(repr=False)
    )
    purpose: str
    user: User | None
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A browser in which one is signed in."""

    id: str
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    here: Annotated[bool, Field(description="Whether it is the one that asks.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """An API token."""

    id: str
    user_id: str
    user_name: str
    name: str
    prefix: Annotated[str, Field(description="The beginning of the token, to recognise it by.")]
    scopes: tuple[Scope, ...]
    product_id: str | None
    product_name: str | None
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None
    valid: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token that was just made."""

    token: Token
    text: Annotated[str, Field(description="Shown now and never again; empty when the same request is repeated.")] = (
        field(repr=False)
    )
