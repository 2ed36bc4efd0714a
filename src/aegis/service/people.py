"""People: signing in and out, invitations, roles.

Functions that compute or check a password take the catalog and open their own short transactions, because argon2 is
slow on purpose and no lock of the database is held meanwhile.
"""

from __future__ import annotations

from aegis.service.actor import Actor
from aegis.service.catalog import Catalog, Work
from aegis.service.paging import FIRST, Page, PageRequest
from aegis.service.views import LinkView, NewLink, SessionActor, SignedIn, UserView


def sign_in(catalog: Catalog, *, name: str, password: str, address: str) -> SignedIn:
    """Check a password and open a session; `NotSignedInError` when it is wrong, and equally slow for unknown names.

    After 5 failures in 15 minutes, of a name or from an address, `TooManyAttemptsError` says when to try again.
    """
    raise NotImplementedError


def sign_out(work: Work, *, secret: str) -> None:
    """End the session; nothing happens where there is none."""
    raise NotImplementedError


def actor_of_session(catalog: Catalog, *, secret: str) -> SessionActor:
    """Whose session it is; `NotSignedInError` where it is unknown, over, or its owner was switched off."""
    raise NotImplementedError


def actor_of_token(catalog: Catalog, *, text: str) -> Actor:
    """Whose token it is; `NotSignedInError` where it is unknown, expired, revoked, or its owner was switched off."""
    raise NotImplementedError


def setup_link(catalog: Catalog) -> NewLink | None:
    """On a catalog without any person: the link with which the first administrator chooses a name and password."""
    raise NotImplementedError


def link(catalog: Catalog, *, secret: str) -> LinkView:
    """What a link is for; `NotFoundError` where it is unknown, used or too old."""
    raise NotImplementedError


def accept_link(
    catalog: Catalog, *, secret: str, password: str, name: str | None = None, display_name: str | None = None
) -> UserView:
    """Use a link once: choose the password. The setup link also needs the first administrator's name."""
    raise NotImplementedError


def change_password(catalog: Catalog, actor: Actor, *, old: str, new: str) -> None:
    """Choose another password; every other session of this person ends."""
    raise NotImplementedError


def create_user(work: Work, *, name: str, display_name: str) -> NewLink:
    """A new person, and the invitation link with which they choose a password."""
    raise NotImplementedError


def reset_link(work: Work, *, user_id: str) -> NewLink:
    """A link with which somebody who forgot their password chooses another one."""
    raise NotImplementedError


def me(work: Work) -> UserView:
    """The person who acts."""
    raise NotImplementedError


def user(work: Work, *, user_id: str) -> UserView:
    """One person."""
    raise NotImplementedError


def list_users(work: Work, *, page: PageRequest = FIRST) -> Page[UserView]:
    """Everybody, by name."""
    raise NotImplementedError


def set_active(work: Work, *, user_id: str, active: bool) -> UserView:
    """Switch somebody off (their sessions and tokens stop working at once) or on again."""
    raise NotImplementedError


def assign(work: Work, *, user_id: str, role: str, product: str | None = None) -> UserView:
    """Give a role, for one product (name or id) or for all."""
    raise NotImplementedError


def unassign(work: Work, *, user_id: str, role: str, product: str | None = None) -> UserView:
    """Take a role away; the last administrator stays."""
    raise NotImplementedError
