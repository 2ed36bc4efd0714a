"""People whom an identity provider vouches for: found or made, given the roles of their groups, and signed in.

Nobody is recognised by a name or a mail address, which a provider may hand out again: only by what it calls them for
good. Somebody with an account here adds this way to sign in while they are signed in.
"""

from __future__ import annotations

import datetime
import logging
import re
import secrets

from sqlalchemy import select

from aegis.catalog.database.tables import Assignment, ExternalIdentity, Product, User
from aegis.catalog.service.catalog import Catalog, Work
from aegis.catalog.service.openid_provider import ExternalPerson
from aegis.catalog.service.people import found_user, new_user
from aegis.catalog.service.permissions import ANONYMOUS, Actor, Permission, require
from aegis.catalog.service.sessions import SignedIn, open_session
from aegis.errors import ConflictError, NotSignedInError

_log = logging.getLogger("aegis.catalog")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9._-]+")


def sign_in_external(catalog: Catalog, person: ExternalPerson) -> SignedIn:
    """A session for somebody whom the provider vouches for; on the first time they are made, without a password."""
    with catalog.write(ANONYMOUS) as work:
        identity = work.session.get(ExternalIdentity, (person.issuer, person.subject))
        if identity is None:
            made = new_user(work, name=_free_name(work, person.name), display_name=_shown_name(person))
            identity = _link(work, person, made)
        user = found_user(work, identity.user_id, lock=True)
        if not user.active:
            raise NotSignedInError("this account is switched off; ask an administrator")
        identity.last_seen_at = work.now
        _give_roles(work, user, person.groups)
        return open_session(work, user_id=user.id, by="identity provider")


def link_external(catalog: Catalog, actor: Actor, person: ExternalPerson) -> None:
    """Add this way to sign in to the account of somebody who is signed in. Not with a token."""
    require(actor, Permission.MANAGE_OWN_SESSIONS)
    with catalog.write(actor) as work:
        identity = work.session.get(ExternalIdentity, (person.issuer, person.subject))
        if identity is not None and identity.user_id != actor.user_id:
            raise ConflictError("that account signs in as somebody else here already; ask an administrator")
        user = found_user(work, actor.user_id, lock=True)
        if identity is None:
            _link(work, person, user)
        _give_roles(work, user, person.groups)


def _link(work: Work, person: ExternalPerson, user: User) -> ExternalIdentity:
    identity = ExternalIdentity(
        issuer=person.issuer, subject=person.subject, user_id=user.id, created_at=work.now, last_seen_at=work.now
    )
    work.add(identity)
    work.record("identity linked", user)
    return identity


def _give_roles(work: Work, user: User, groups: frozenset[str]) -> None:
    """What the groups give counts until the person was not seen for so many days; what they no longer give ends."""
    until = work.now + datetime.timedelta(days=work.settings.oidc_roles_days)
    roles = _mapped(work, groups)
    for assignment in work.session.scalars(select(Assignment).where(Assignment.user_id == user.id)).all():
        role = (assignment.role, assignment.product_id)
        if role in roles:
            roles.discard(role)
            assignment.valid_until = None if assignment.valid_until is None else until
        elif assignment.valid_until is not None:
            work.session.delete(assignment)
            work.record("role taken", user, product_id=assignment.product_id, role=assignment.role)
    for name, product_id in sorted(roles, key=str):
        work.session.add(Assignment(user_id=user.id, role=name, product_id=product_id, valid_until=until))
        work.record("role given", user, product_id=product_id, role=name)
    work.session.flush()


def _mapped(work: Work, groups: frozenset[str]) -> set[tuple[str, str | None]]:
    mapped: set[tuple[str, str | None]] = set()
    for rule in work.settings.oidc_roles:
        if rule.group not in groups:
            continue
        if rule.product is None:
            mapped.add((rule.role, None))
            continue
        product_id = work.session.scalar(select(Product.id).where(Product.name == rule.product))
        if product_id is None:
            _log.warning("oidc_roles names a product that is not in the catalog; that role is not given")
        else:
            mapped.add((rule.role, product_id))
    return mapped


def _free_name(work: Work, wanted: str) -> str:
    """The name that the provider gives, as far as an address can hold it; another one where it is taken."""
    plain = _NOT_IN_NAMES.sub("-", wanted.lower().split("@")[0]).strip("._-")[:48].strip("._-") or "person"
    taken = work.session.scalar(select(User.id).where(User.name == plain))
    return plain if taken is None and len(plain) != 32 else f"{plain}-{secrets.token_hex(4)}"


def _shown_name(person: ExternalPerson) -> str:
    for name in (person.display_name, person.name):
        shown = "".join(letter for letter in name if letter.isprintable()).strip()[:120].strip()
        if shown:
            return shown
    return "somebody"
