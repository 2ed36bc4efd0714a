"""What the catalog answers about people: their roles, links and tokens."""

from __future__ import annotations

import datetime

from pydantic import Field

from aegis.catalog.server.api.models.fields import Given
from aegis.catalog.service.actor import Scope


class Role(Given):
    """A role; without a product it holds for all."""

    role: str
    product_id: str | None
    product_name: str | None


class User(Given):
    """A person."""

    id: str
    name: str
    display_name: str
    active: bool
    invited: bool = Field(description="No password was chosen yet.")
    created_at: datetime.datetime
    roles: list[Role]


class Me(User):
    """Whoever asks."""

    scopes: list[Scope] | None = Field(description="What the token may be used for; null for a session.")
    token_product: str | None = Field(description="The id of the one product that the token is for.")


class Link(Given):
    """A link that works once."""

    secret: str | None = Field(description="Shown now and never again; null when the same call is repeated.")
    purpose: str
    user: User | None
    expires_at: datetime.datetime


class Token(Given):
    """An API token."""

    id: str
    user_id: str
    user_name: str
    name: str
    prefix: str = Field(description="The beginning of the token, to recognise it by.")
    scopes: list[Scope]
    product_id: str | None
    product_name: str | None
    created_at: datetime.datetime
    expires_at: datetime.datetime
    revoked_at: datetime.datetime | None
    last_used_at: datetime.datetime | None
    valid: bool


class NewToken(Given):
    """A token that was just made."""

    token: Token
    text: str | None = Field(description="Shown now and never again; null when the same call is repeated.")
