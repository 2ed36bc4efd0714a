"""People: invitations, passwords, roles; and those whom an identity provider vouches for.

Functions that compute or check a password take the catalog and open their own short transactions, because argon2 is
slow on purpose and no lock of the database is held meanwhile.

Nobody from outside is recognised by a name or a mail address, which a provider may hand out again: only by what it
calls them for good. Somebody with an account here adds this way to sign in while they are signed in.
"""

from __future__ import annotations

import datetime
import logging
import re
import secrets
from collections import defaultdict
from typing import Any

from sqlalchemy import delete, exists, false, func, or_, select

from aegis.catalog import records
from aegis.catalog.database.tables import Assignment, ExternalIdentity, HalfSignIn, Link, Product, SignIn, Token, User
from aegis.catalog.records import Page, UserRole, record_of
from aegis.catalog.service.catalog import Catalog, Work, by_id, visible_product
from aegis.catalog.service.checks import checked_line, checked_slug
from aegis.catalog.service.openid_provider import ExternalPerson
from aegis.catalog.service.paging import FIRST, PageRequest, page_of
from aegis.catalog.service.permissions import ANONYMOUS, SYSTEM, Actor, Permission, require
from aegis.catalog.service.sessions import (
    SignedIn,
    attempt_succeeded,
    begin_attempt,
    hash_of,
    hash_password,
    is_password,
    new_secret,
    open_session,
    role_counts,
)
from aegis.catalog.settings import Settings
from aegis.errors import ConflictError, InputError, NotFoundError, NotSignedInError

SETUP, INVITE, RESET = "setup", "invite", "reset"


def setup_link(catalog: Catalog) -> records.Link | None:
    """On a catalog without any person: the link with which the first administrator chooses a name and password."""
    if not catalog.settings.local_accounts:
        return None  # the first administrator comes from a group of the identity provider
    with catalog.write(SYSTEM) as work:
        if work.session.scalar(select(func.count()).select_from(User)):
            return None
        work.session.execute(delete(Link).where(Link.purpose == SETUP))
        return _new_link(work, purpose=SETUP, person=None)


def link(catalog: Catalog, *, secret: str) -> records.Invitation:
    """What a link is for; `NotFoundError` where it is unknown, used or too old."""
    with catalog.read(ANONYMOUS) as work:
        link = _usable(work, secret)
        person = None if link.user_id is None else work.session.get(User, link.user_id)
        return records.Invitation(
            purpose=link.purpose, user_name=None if person is None else person.name, expires_at=link.expires_at
        )


def accept_link(
    catalog: Catalog, *, secret: str, password: str, name: str | None = None, display_name: str | None = None
) -> records.User:
    """Use a link once: choose the password. The setup link also needs the first administrator's name."""
    _check_local_accounts(catalog.settings)
    link(catalog, secret=secret)  # a wrong link should not cost a slow hash
    hashed = hash_password(catalog.settings, password)
    with catalog.write(ANONYMOUS) as work:
        usable = _usable(work, secret, lock=True)
        usable.used_at = work.now
        if usable.user_id is None:
            if work.session.scalar(select(func.count()).select_from(User)):
                raise ConflictError("there is an administrator already; ask them for an invitation")
            person = new_user(work, name=name, display_name=display_name or name)
            work.session.add(Assignment(user_id=person.id, role=UserRole.ADMIN))
        else:
            person = found_user(work, usable.user_id, lock=True)
            _end_access(work, person)
        person.password_hash = hashed
        work.session.flush()
        work.actor = Actor(user_id=person.id, name=person.name, display_name=person.display_name)
        work.record("password chosen", person, link=usable.purpose)
        return user_views(work, [person])[0]


def change_password(catalog: Catalog, actor: Actor, *, old: str, new: str) -> None:
    """Choose another password; every session and token of this person ends. Not with a token."""
    require(actor, Permission.MANAGE_OWN_TOKENS)
    _check_local_accounts(catalog.settings)
    with catalog.write(actor) as work:
        begin_attempt(work, name=actor.name, address=f"user:{actor.user_id}")
        password_hash = found_user(work, actor.user_id).password_hash
    if not is_password(catalog.settings, password_hash, old):
        raise InputError("the old password is wrong; nothing was changed")
    hashed = hash_password(catalog.settings, new)
    with catalog.write(actor) as work:
        attempt_succeeded(work, name=actor.name, address=f"user:{actor.user_id}")
        person = found_user(work, actor.user_id, lock=True)
        if person.password_hash != password_hash:
            raise ConflictError("the password was changed at the same moment; try again")
        person.password_hash = hashed
        _end_access(work, person)
        work.record("password changed", person)


def create_user(work: Work, *, name: str, display_name: str) -> records.Link:
    """A new person, and the secret of the link with which they choose a password."""
    require(work.actor, Permission.MANAGE_PEOPLE)
    _check_local_accounts(work.settings)
    person = new_user(work, name=name, display_name=display_name)
    return _new_link(work, purpose=INVITE, person=person)


def reset_link(work: Work, *, user_id: str) -> records.Link:
    """The secret of a link with which this person chooses another password."""
    require(work.actor, Permission.MANAGE_PEOPLE)
    _check_local_accounts(work.settings)
    return _new_link(work, purpose=RESET, person=found_user(work, user_id))


def me(work: Work) -> records.Me:
    """The person whose token or session this is, their roles, and what the token may be used for."""
    actor = work.actor
    require(actor, Permission.SEE_CATALOG)
    user = user_views(work, [found_user(work, actor.user_id)])[0]
    scopes = None if actor.scopes is None else tuple(sorted(actor.scopes))
    return record_of(records.Me, user, scopes=scopes, token_product=actor.token_product)


def has_password(work: Work) -> bool:
    """Whether the person who acts can sign in with a password."""
    return found_user(work, work.actor.user_id).password_hash is not None


def user(work: Work, *, user_id: str) -> records.User:
    """One person."""
    require(work.actor, Permission.MANAGE_PEOPLE)
    return user_views(work, [found_user(work, user_id)])[0]


def list_users(work: Work, *, page: PageRequest = FIRST) -> Page[records.User]:
    """Everybody, by name."""
    require(work.actor, Permission.MANAGE_PEOPLE)
    listed = page_of(work.session, select(User), lambda person: person, keys=(User.name,), page=page)
    return Page(items=tuple(user_views(work, list(listed.items))), next=listed.next)


def set_active(work: Work, *, user_id: str, active: bool) -> records.User:
    """Switch somebody off or on again; who is off is signed out at once, and their tokens stop working."""
    require(work.actor, Permission.MANAGE_PEOPLE)
    person = found_user(work, user_id, lock=True)
    if not active:
        keep_an_administrator(work, without=person.id)
        _end_access(work, person)
    if person.active != active:
        person.active = active
        work.record("switched on" if active else "switched off", person)
    return user_views(work, [person])[0]


def assign(work: Work, *, user_id: str, role: str, product: str | None = None) -> records.User:
    """Give a role, for one product or for all."""
    require(work.actor, Permission.MANAGE_PEOPLE)
    person, chosen, product_id = _role_of(work, user_id, role, product)
    assignment = _assignment(work, person.id, chosen, product_id)
    if assignment is None:
        work.add(Assignment(user_id=person.id, role=chosen, product_id=product_id))
    elif assignment.valid_until is not None:
        assignment.valid_until = None  # from now on it is given here, whatever the groups say
    else:
        return user_views(work, [person])[0]
    work.record("role given", person, product_id=product_id, role=chosen)
    return user_views(work, [person])[0]


def unassign(work: Work, *, user_id: str, role: str, product: str | None = None) -> records.User:
    """Take a role away; the last administrator stays."""
    require(work.actor, Permission.MANAGE_PEOPLE)
    person, chosen, product_id = _role_of(work, user_id, role, product)
    assignment = _assignment(work, person.id, chosen, product_id)
    if assignment is not None and assignment.valid_until is not None:
        raise ConflictError("a group of the identity provider gives this role; take the person out of the group there")
    if assignment is None:
        raise NotFoundError("this person does not hold the role; look at the list of their roles")
    if chosen is UserRole.ADMIN:
        keep_an_administrator(work, without=person.id)
    work.session.delete(assignment)
    work.session.flush()
    work.record("role taken", person, product_id=product_id, role=chosen)
    return user_views(work, [person])[0]


def _check_local_accounts(settings: Settings) -> None:
    if not settings.local_accounts:
        raise ConflictError("people of this catalog sign in with their organisation's account; there are no passwords")


def _end_access(work: Work, person: User) -> None:
    """End every session, whole or half, every token and open link of somebody, for good: another password brings none
    of them back."""
    work.session.execute(delete(SignIn).where(SignIn.user_id == person.id))
    work.session.execute(delete(HalfSignIn).where(HalfSignIn.user_id == person.id))
    work.session.execute(delete(Link).where(Link.user_id == person.id, Link.used_at.is_(None)))
    ended = work.session.scalars(
        select(Token).where(Token.user_id == person.id, Token.revoked_at.is_(None)).with_for_update()
    ).all()
    for token in ended:
        token.revoked_at = work.now
        work.record("token revoked", token)


def _role_of(work: Work, user_id: str, role: Any, product: str | None) -> tuple[User, UserRole, str | None]:
    if not isinstance(role, str) or role not in set(UserRole):
        raise InputError(f"a role is one of {', '.join(UserRole)}")
    chosen = UserRole(role)
    if chosen in (UserRole.ADMIN, UserRole.REGISTRAR) and product is not None:
        raise InputError("administrators and registrars are such for the whole catalog; leave the product out")
    person = found_user(work, user_id, lock=True)
    return person, chosen, None if product is None else visible_product(work, product).id


def _assignment(work: Work, user_id: str, role: UserRole, product_id: str | None) -> Assignment | None:
    same_product = Assignment.product_id.is_(None) if product_id is None else Assignment.product_id == product_id
    return work.session.scalar(
        select(Assignment).where(Assignment.user_id == user_id, Assignment.role == role.value, same_product)
    )


def new_user(work: Work, *, name: str | None, display_name: str | None) -> User:
    """A person without a password; `ConflictError` where the name is taken."""
    slug = checked_slug(name, what="the user name")
    if work.session.scalar(select(User.id).where(User.name == slug)) is not None:
        raise ConflictError("this user name is taken; choose another one")
    shown_name = checked_line(display_name, what="the display name", most=120)
    person = work.add(User(name=slug, display_name=shown_name, active=True, created_at=work.now))
    work.record("user created", person, name=person.name)
    return person


def _new_link(work: Work, *, purpose: str, person: User | None) -> records.Link:
    secret = new_secret()
    expires = work.now + datetime.timedelta(hours=work.settings.link_hours)
    user_id = None if person is None else person.id
    if user_id is not None:  # an older invitation must not stay open
        work.session.execute(delete(Link).where(Link.user_id == user_id, Link.used_at.is_(None)))
    work.session.add(Link(hash=hash_of(secret), purpose=purpose, user_id=user_id, expires_at=expires))
    work.record("link made", ("link", user_id or "setup"), purpose=purpose)
    view = None if person is None else user_views(work, [person])[0]
    return records.Link(secret=secret, purpose=purpose, user=view, expires_at=expires)


def _usable(work: Work, secret: str, *, lock: bool = False) -> Link:
    link = work.session.get(Link, hash_of(secret), with_for_update=lock or None)
    if link is None or link.used_at is not None or link.expires_at <= work.now:
        raise NotFoundError("the link is unknown, used or too old; ask an administrator for another one")
    return link


def found_user(work: Work, user_id: str | None, *, lock: bool = False) -> User:
    person = by_id(work, User, user_id, lock=lock)
    if person is None:
        raise NotFoundError("there is no such person; look at the list of people")
    return person


def user_views(work: Work, people: list[User]) -> list[records.User]:
    ids = [person.id for person in people]
    roles_of: dict[str, list[records.Role]] = defaultdict(list)
    assigned = work.session.execute(
        select(Assignment, Product.name)
        .join(User, role_counts(work.now))
        .outerjoin(Product, Product.id == Assignment.product_id)
        .where(User.id.in_(ids))
    )
    for assignment, product_name in assigned:
        roles_of[assignment.user_id].append(record_of(records.Role, assignment, product_name=product_name))
    vouched_for = select(ExternalIdentity.user_id).where(ExternalIdentity.user_id.in_(ids))
    external = set(work.session.scalars(vouched_for))
    return [
        record_of(
            records.User,
            person,
            invited=person.password_hash is None and person.id not in external,
            external=person.id in external,
            roles=tuple(sorted(roles_of[person.id], key=lambda role: (role.role, role.product_name or ""))),
        )
        for person in people
    ]


def keep_an_administrator(work: Work, *, without: str) -> None:
    """Raise if nobody but this person could administrate. Locks the administrators, so that two cannot both go."""
    others = work.session.scalars(
        select(User.id)
        .join(Assignment, role_counts(work.now))
        .where(
            Assignment.role == UserRole.ADMIN,
            User.active,
            or_(
                exists().where(ExternalIdentity.user_id == User.id) if work.settings.oidc_issuer else false(),
                User.password_hash.is_not(None) if work.settings.local_accounts else false(),
            ),
        )
        .with_for_update()
    ).all()
    if without in others and len(set(others)) == 1:
        raise ConflictError("this is the last administrator; make somebody else one first")


# People whom an identity provider vouches for: found or made, given the roles of their groups, and signed in


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
    work.record("identity linked", user)
    return work.add(
        ExternalIdentity(
            issuer=person.issuer, subject=person.subject, user_id=user.id, created_at=work.now, last_seen_at=work.now
        )
    )


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
