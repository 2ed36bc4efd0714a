"""People, sessions, links and tokens as the service answers with them; secrets are in no repr."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field

from aegis.catalog.service.actor import Actor, Scope


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleView:
    """A role that somebody holds; without a product it holds for all."""

    role: str
    product_id: str | None
    product_name: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserView:
    """A person. ``invited`` means that they have not chosen a password yet."""

    id: str
    name: str
    display_name: str
    active: bool
    invited: bool
    created_at: datetime.datetime
    roles: tuple[RoleView, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkView:
    """Whom a link is for, before it is used."""

    purpose: str
    user_name: str | None
    expires_at: datetime.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLink:
    """A link that works once; ``secret`` is shown now and never again."""

    secret: str = field(repr=False)
    purpose: str
    user: UserView | None
    expires_at: datetime.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenView:
    """A token as its owner sees it in the list."""

    id: str
    user_id: str
    user_name: str
    name: str
    prefix: str
    scopes: tuple[Scope, ...]
    product_id: str | None
    product_name: str | None
    created_at: datetime.datetime
    expires_at: datetime.datetime
    revoked_at: datetime.datetime | None
    last_used_at: datetime.datetime | None
    valid: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token that was just made; ``text`` is shown now and never again."""

    token: TokenView
    text: str = field(repr=False)
