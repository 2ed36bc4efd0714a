"""People and their roles, for administrators."""

from __future__ import annotations

from starlette.responses import Response

from aegis.catalog.server.pages.paging import paging
from aegis.catalog.server.pages.routing import Door, get, post, sentence
from aegis.catalog.server.pages.visit import Visit
from aegis.catalog.service import people, tokens
from aegis.catalog.service.actor import UserRole
from aegis.catalog.service.permissions import Permission, require
from aegis.catalog.service.person_views import NewLink
from aegis.catalog.service.product_choice import product_choices
from aegis.errors import AegisError, ConflictError, InputError, NotFoundError

ROLES = (
    (UserRole.CONSUMER.value, "consumer: asks for access and downloads"),
    (UserRole.EXPERT.value, "expert: proposes configurations and decides"),
    (UserRole.PROVIDER.value, "provider: registers products, pushes counts and releases"),
    (UserRole.ADMIN.value, "administrator: people, audit, everything"),
)


def show_people(visit: Visit) -> Response:
    return _people(visit, problem=None, link=None)


def invite(visit: Visit) -> Response:
    """A new person with an invitation link, which is on this one answer only; roles may be given at once."""
    form = visit.form
    try:
        with visit.write() as work:
            link = people.create_user(work, name=form.text("name"), display_name=form.text("display_name"))
            assert link.user is not None
            for role in form.texts("roles"):
                people.assign(work, user_id=link.user.id, role=role, product=form.text("product") or None)
    except (InputError, ConflictError, NotFoundError) as error:
        return _people(visit, problem=error, link=None)
    return _people(visit, problem=None, link=link)


def _people(visit: Visit, *, problem: AegisError | None, link: NewLink | None) -> Response:
    with visit.read() as work:
        page = people.list_users(work, page=visit.page_request)
        choices = product_choices(work)
    kept = visit.form if problem else None
    return visit.page(
        "people.html",
        status=problem.http_status if problem else 200,
        title="People",
        people=page.items,
        paging=paging(visit, page),
        roles=ROLES,
        products=choices,
        link=link,
        name=kept.text("name") if kept else "",
        display_name=kept.text("display_name") if kept else "",
        product=kept.text("product") if kept else "",
        chosen=kept.texts("roles") if kept else (),
        problem=sentence(problem) if problem else None,
    )


def show_person(visit: Visit) -> Response:
    return _person(visit, problem=None, link=None)


def change_roles(visit: Visit) -> Response:
    """Give a role or take one away."""
    form, user_id = visit.form, visit.names["user"]
    product = form.text("product") or None
    act = people.unassign if form.text("do") == "take" else people.assign
    try:
        with visit.write() as work:
            act(work, user_id=user_id, role=form.text("role"), product=product)
    except (InputError, ConflictError, NotFoundError) as error:
        return _person(visit, problem=error, link=None)
    return visit.go(f"/people/{user_id}", "The roles are changed.")


def switch(visit: Visit) -> Response:
    user_id = visit.names["user"]
    try:
        with visit.write() as work:
            user = people.set_active(work, user_id=user_id, active=visit.form.text("active") == "1")
    except (InputError, ConflictError) as error:
        return _person(visit, problem=error, link=None)
    said = "can sign in again" if user.active else "is switched off; sessions and tokens stopped working"
    return visit.go(f"/people/{user_id}", f"{user.name} {said}.")


def reset(visit: Visit) -> Response:
    """A link for a new password; like every secret it is shown once."""
    with visit.write() as work:
        link = people.reset_link(work, user_id=visit.names["user"])
    return _person(visit, problem=None, link=link)


def revoke_token(visit: Visit) -> Response:
    with visit.write() as work:
        token = tokens.revoke_token(work, token_id=visit.names["token"])
    return visit.go(f"/people/{visit.names['user']}", f"The token {token.name} works no longer.")


def _person(visit: Visit, *, problem: AegisError | None, link: NewLink | None) -> Response:
    require(visit.actor, Permission.MANAGE_PEOPLE)
    with visit.read() as work:
        user = people.user(work, user_id=visit.names["user"])
        held = tokens.list_tokens(work, user_id=user.id)
        choices = product_choices(work)
    return visit.page(
        "person.html",
        status=problem.http_status if problem else 200,
        title=user.display_name or user.name,
        user=user,
        tokens=[token for token in held.items if token.valid],
        roles=ROLES,
        products=choices,
        link=link,
        problem=sentence(problem) if problem else None,
    )


DOORS: tuple[Door, ...] = (
    get("/people", show_people),
    post("/people", invite),
    get("/people/{user}", show_person),
    post("/people/{user}/roles", change_roles),
    post("/people/{user}/active", switch),
    post("/people/{user}/reset", reset),
    post("/people/{user}/tokens/{token}/revoke", revoke_token),
)
