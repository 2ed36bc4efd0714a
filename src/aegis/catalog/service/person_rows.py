"""People as they stand in the database: found, shown with their roles, and never left without an administrator."""

from __future__ import annotations

from collections import defaultdict

from sqlalchemy import select

from aegis.catalog.database.tables import Assignment, Product, User
from aegis.catalog.service.actor import UserRole
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.person_views import RoleView, UserView
from aegis.catalog.service.visible import by_id
from aegis.errors import ConflictError, NotFoundError


def found_user(work: Work, user_id: str | None, *, lock: bool = False) -> User:
    person = by_id(work, User, user_id, lock=lock)
    if person is None:
        raise NotFoundError("there is no such person; look at the list of people")
    return person


def user_views(work: Work, people: list[User]) -> list[UserView]:
    held: dict[str, list[RoleView]] = defaultdict(list)
    found = work.session.execute(
        select(Assignment, Product.name)
        .outerjoin(Product, Product.id == Assignment.product_id)
        .where(Assignment.user_id.in_([person.id for person in people]))
    )
    for assignment, product_name in found:
        held[assignment.user_id].append(
            RoleView(role=assignment.role, product_id=assignment.product_id, product_name=product_name)
        )
    return [
        UserView(
            id=person.id,
            name=person.name,
            display_name=person.display_name,
            active=person.active,
            invited=person.password_hash is None,
            created_at=person.created_at,
            roles=tuple(sorted(held[person.id], key=lambda role: (role.role, role.product_name or ""))),
        )
        for person in people
    ]


def keep_an_administrator(work: Work, *, without: str) -> None:
    """Raise if nobody but this person could administrate. Locks the administrators, so that two cannot both go."""
    others = work.session.scalars(
        select(User.id)
        .join(Assignment, Assignment.user_id == User.id)
        .where(Assignment.role == UserRole.ADMIN.value, User.active, User.password_hash.is_not(None))
        .with_for_update()
    ).all()
    if without in others and len(set(others)) == 1:
        raise ConflictError("this is the last administrator; make somebody else one first")
