"""Who may do what: one table, asked by every function of the service and by nobody else.

An administrator may do everything, except decide a request of their own: the consumer of a request never decides it.
A token allows what its owner may do *and* its scopes name, on its product only if it has one. What a person must not
even know of (drafts, other people's requests) is not found rather than forbidden.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from aegis.catalog.records import Scope, UserRole
from aegis.errors import NotPermittedError, NotSignedInError


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
        matching = [held for held in self.roles if held.role in roles]
        if self.is_admin or any(held.product_id is None for held in matching):
            return None
        return frozenset(held.product_id for held in matching if held.product_id is not None)


ANONYMOUS = Actor(user_id=None, name="anonymous", display_name="nobody")
SYSTEM = Actor(user_id=None, name="system", display_name="the catalog itself", system=True)


_ADMIN, _PROVIDER, _EXPERT, _CONSUMER = UserRole.ADMIN, UserRole.PROVIDER, UserRole.EXPERT, UserRole.CONSUMER
_REGISTRAR = UserRole.REGISTRAR
_READ, _ASK, _PUSH, _DECIDE = (Scope.READ,), (Scope.REQUEST,), (Scope.PUSH,), (Scope.DECIDE,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The roles that allow an act, and the token scopes of which one is needed.

    ``roles`` None means everybody who is signed in. ``anywhere`` means that the role on any product is enough.
    """

    roles: frozenset[UserRole] | None
    scopes: frozenset[Scope]
    anywhere: bool = False


def _rule(*roles: UserRole, scopes: tuple[Scope, ...], anywhere: bool = False) -> Rule:
    return Rule(roles=frozenset(roles) if roles else None, scopes=frozenset(scopes), anywhere=anywhere)


class Permission(Enum):
    """An act that somebody may or may not do, in words, and who may: the one table.

    A token without a matching scope is refused; no token makes tokens.
    """

    def __init__(self, words: str, rule: Rule) -> None:
        self.words = words
        self.rule = rule

    SEE_CATALOG = "see the catalog", _rule(scopes=tuple(Scope))
    SEE_DRAFT = "see a product that is not published", _rule(_PROVIDER, _EXPERT, scopes=tuple(Scope))
    REGISTER_PRODUCT = "register a product", _rule(_REGISTRAR, _PROVIDER, scopes=_PUSH, anywhere=True)
    CHANGE_PRODUCT = "change, publish or retire a product", _rule(_PROVIDER, scopes=_PUSH)
    PROPOSE_CONFIGURATION = "propose configurations", _rule(_EXPERT, _PROVIDER, scopes=_PUSH + _DECIDE)
    WITHDRAW_CONFIGURATION = "withdraw a configuration", _rule(_EXPERT, _PROVIDER, scopes=_PUSH + _DECIDE)
    PUSH_SUMMARY = "push a summary", _rule(_PROVIDER, scopes=_PUSH)
    START_ADVICE = "start the advisor", _rule(_EXPERT, _PROVIDER, scopes=_PUSH + _DECIDE)
    SEE_JOBS = "see the jobs of a product", _rule(_EXPERT, _PROVIDER, scopes=_READ + _PUSH + _DECIDE)
    REQUEST_ACCESS = "request access", _rule(_CONSUMER, scopes=_ASK)
    WITHDRAW_REQUEST = "take one's own request back", _rule(scopes=_ASK)
    COMMENT = "comment on a request that one sees", _rule(scopes=_ASK + _PUSH + _DECIDE)
    SEE_REQUESTS = "see the requests for a product", _rule(_PROVIDER, _EXPERT, scopes=_READ + _PUSH + _DECIDE)
    DECIDE_REQUEST = "decide a request", _rule(_EXPERT, scopes=_DECIDE)
    REVOKE_REQUEST = "revoke a request", _rule(_PROVIDER, scopes=_DECIDE + _PUSH)
    PUSH_RELEASE = "push a release", _rule(_PROVIDER, scopes=_PUSH)
    WITHDRAW_RELEASE = "withdraw a release", _rule(_PROVIDER, scopes=_PUSH)
    SEE_LEDGER = "see the ledger of a product", _rule(_PROVIDER, _EXPERT, scopes=_READ + _PUSH + _DECIDE)
    JUDGE_TOGETHER = "say what several maskings show together", _rule(_PROVIDER, scopes=_PUSH)
    SEE_RELEASES = (
        "see and download every release of a product",
        _rule(_PROVIDER, _EXPERT, scopes=_READ + _PUSH + _DECIDE),
    )
    DOWNLOAD = "download the release of one's own request", _rule(scopes=_READ + _ASK)
    SEE_PRODUCT_AUDIT = "see the audit of a product", _rule(_PROVIDER, _EXPERT, scopes=_READ)
    SEE_AUDIT = "see and verify the whole audit", _rule(_ADMIN, scopes=(Scope.ADMIN,))
    MANAGE_OWN_TOKENS = "make and revoke one's own tokens", _rule(scopes=())
    MANAGE_OWN_SESSIONS = "see and end one's own sessions", _rule(scopes=())
    MANAGE_OWN_KEYS = "register and revoke one's own signing keys", _rule(scopes=())
    MANAGE_SECOND_FACTOR = "set up one's own second factor", _rule(scopes=())
    SEE_OWN_NOTIFICATIONS = "read one's own notifications", _rule(scopes=_READ)
    MARK_NOTIFICATIONS = "mark one's own notifications as read", _rule(scopes=_ASK + _PUSH + _DECIDE)
    CHOOSE_NOTIFICATIONS = "choose how to be notified", _rule(scopes=())
    MANAGE_PEOPLE = "manage people and their tokens", _rule(_ADMIN, scopes=(Scope.ADMIN,))


def may(actor: Actor, permission: Permission, product_id: str | None = None) -> bool:
    """Whether the actor may do it (to the product with this id)."""
    return _why_not(actor, permission, product_id) is None


def require(actor: Actor, permission: Permission, product_id: str | None = None) -> None:
    """Raise unless the actor may do it: `NotSignedInError` for nobody, `NotPermittedError` for somebody else."""
    if not actor.signed_in:
        raise NotSignedInError("this needs somebody who is signed in; sign in or send a token")
    reason = _why_not(actor, permission, product_id)
    if reason is not None:
        raise NotPermittedError(reason)


def products_where(actor: Actor, permission: Permission) -> frozenset[str] | None:
    """The ids of the products to which the actor may do it; None for every product."""
    rule = permission.rule
    if not actor.signed_in or (actor.scopes is not None and not actor.scopes & rule.scopes):
        return frozenset()
    ids = None if rule.roles is None else actor.products_as(*rule.roles)
    if actor.token_product is None:
        return ids
    return frozenset({actor.token_product} if ids is None else ids & {actor.token_product})


def _why_not(actor: Actor, permission: Permission, product_id: str | None) -> str | None:
    if not actor.signed_in:
        return "nobody is signed in"
    if actor.system:
        return None
    rule = permission.rule
    if actor.scopes is not None and not actor.scopes & rule.scopes:
        needed = " or ".join(sorted(scope.value for scope in rule.scopes))
        if not needed:
            return f"a token may not {permission.words}; sign in with the password"
        return f"the token may not {permission.words}: its scopes lack {needed}; make another token"
    if (
        actor.token_product is not None
        and permission is not Permission.SEE_CATALOG
        and actor.token_product != product_id
    ):
        return f"the token is for one product only and may not {permission.words} here; make another token"
    if rule.roles is None or actor.is_admin or any(_held(actor, role, rule, product_id) for role in rule.roles):
        return None
    who = " or ".join(sorted(role.value for role in rule.roles))
    where = " of this product" if product_id is not None and _ADMIN not in rule.roles else ""
    return f"only the {who}{where} may {permission.words}; ask an administrator for the role"


def _held(actor: Actor, role: UserRole, rule: Rule, product_id: str | None) -> bool:
    return actor.holds(role, product_id) or (rule.anywhere and actor.holds_anywhere(role))
