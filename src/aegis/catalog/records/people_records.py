"""Who people are and what they may do: roles, and what a token may be used for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field


class UserRole(StrEnum):
    """What a person is in the catalog, for one product or for all.

    A registrar may register products, and becomes the provider of those and of no others.
    """

    ADMIN = "admin"
    REGISTRAR = "registrar"
    PROVIDER = "provider"
    EXPERT = "expert"
    CONSUMER = "consumer"


class Scope(StrEnum):
    """What a token may be used for; a token never allows more than its owner's roles do."""

    READ = "read"
    REQUEST = "request"
    PUSH = "push"
    DECIDE = "decide"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A role that somebody holds; without a product it holds for all."""

    role: str
    product_id: str | None
    product_name: str | None
    valid_until: Annotated[
        datetime | None, Field(description="Until when a role counts that a group of the identity provider gives.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A person."""

    id: str
    name: str
    display_name: str
    active: bool
    invited: Annotated[bool, Field(description="No password was chosen yet.")]
    created_at: datetime
    roles: tuple[Role, ...] = ()
    external: Annotated[bool, Field(description="Signs in with the account of their organisation.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Me(User):
    """The person who sent the request."""

    scopes: Annotated[
        tuple[Scope, ...] | None, Field(description="What the token may be used for; null for a session.")
    ] = None
    token_product: Annotated[str | None, Field(description="The id of the one product that the token is for.")] = None
