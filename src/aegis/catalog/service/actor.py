"""Who acts: a person with roles, perhaps through a token that may do less than they."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class UserRole(StrEnum):
    """What a person is in the catalog, for one product or for all."""

    ADMIN = "admin"
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
class Held:
    """A role, for the product with this id or, with None, for every product."""

    role: UserRole
    product_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """The one on whose behalf something is done. ``scopes`` is None for a person who signed in with a password."""

    user_id: str | None
    name: str
    display_name: str
    roles: frozenset[Held] = field(default_factory=frozenset)
    scopes: frozenset[Scope] | None = None
    token_product: str | None = None
    system: bool = False

    @property
    def signed_in(self) -> bool:
        return self.user_id is not None or self.system

    @property
    def is_admin(self) -> bool:
        return self.system or Held(role=UserRole.ADMIN) in self.roles

    def holds(self, role: UserRole, product_id: str | None = None) -> bool:
        """Whether the role is held for this product (or, without one, for every product)."""
        return Held(role=role) in self.roles or (
            product_id is not None and Held(role=role, product_id=product_id) in self.roles
        )

    def holds_anywhere(self, role: UserRole) -> bool:
        """Whether the role is held for at least one product."""
        return any(held.role is role for held in self.roles)

    def products_as(self, *roles: UserRole) -> frozenset[str] | None:
        """The ids of the products for which one of the roles is held; None for every product."""
        held = [each for each in self.roles if each.role in roles]
        if self.is_admin or any(each.product_id is None for each in held):
            return None
        return frozenset(each.product_id for each in held if each.product_id is not None)


ANONYMOUS = Actor(user_id=None, name="anonymous", display_name="nobody")
SYSTEM = Actor(user_id=None, name="system", display_name="the catalog itself", system=True)
