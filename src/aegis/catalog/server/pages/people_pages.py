"""People and their roles, for administrators."""

from __future__ import annotations

from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.records import UserRole
from aegis.catalog.server.pages.page import PageContext, PageRoutes
from aegis.catalog.server.uploads import Form
from aegis.catalog.service import people, second_factor, tokens
from aegis.catalog.service.paging import MOST, PageRequest
from aegis.catalog.service.permissions import Permission, require
from aegis.catalog.service.products import product_choices
from aegis.errors import NotFoundError

routes = PageRoutes()

ROLES = (
    (UserRole.CONSUMER, "consumer: asks for access and downloads"),
    (UserRole.EXPERT, "expert: proposes configurations and decides"),
    (UserRole.REGISTRAR, "registrar: registers products and provides those"),
    (UserRole.PROVIDER, "provider: pushes counts and releases"),
    (UserRole.ADMIN, "administrator: people, audit, everything"),
)


@routes.get("/people")
def show_people(context: PageContext, *, link: records.Link | None = None) -> Response:
    with context.read() as work:
        page = people.list_users(work, page=context.page_request)
        choices = product_choices(work)
    return context.render(
        "people.html",
        title="People",
        people=page.items,
        local=context.catalog.settings.local_accounts,
        paging=context.paging(page),
        roles=ROLES,
        products=choices,
        link=link,
        values=context.form if context.problem else Form(),
    )


@routes.post("/people", refused=show_people, also=(NotFoundError,))
def invite(context: PageContext) -> Response:
    """A new person with an invitation link, which is on this one answer only; roles may be given at once."""
    form = context.form
    with context.write() as work:
        link = people.create_user(work, name=form.text("name"), display_name=form.text("display_name"))
        assert link.user is not None
        for role in form.texts("roles"):
            people.assign(work, user_id=link.user.id, role=role, product=form.text("product") or None)
    return show_people(context, link=link)


@routes.get("/people/{user}")
def show_person(context: PageContext, *, link: records.Link | None = None) -> Response:
    require(context.actor, Permission.MANAGE_PEOPLE)
    with context.read() as work:
        user = people.user(work, user_id=context.parameters["user"])
        their_tokens = tokens.list_tokens(work, user_id=user.id, valid=True, page=PageRequest(size=MOST))
        factor = second_factor.factor_state(work, user.id)
        choices = product_choices(work)
    return context.render(
        "person.html",
        title=user.display_name or user.name,
        user=user,
        factor=factor,
        local=context.catalog.settings.local_accounts,
        tokens=their_tokens.items,
        roles=ROLES,
        products=choices,
        link=link,
    )


@routes.post("/people/{user}/roles", refused=show_person, also=(NotFoundError,))
def change_roles(context: PageContext) -> Response:
    """Give a role or take one away."""
    form, user_id = context.form, context.parameters["user"]
    act = people.unassign if form.text("do") == "take" else people.assign
    with context.write() as work:
        act(work, user_id=user_id, role=form.text("role"), product=form.text("product") or None)
    return context.redirect(f"/people/{user_id}", "The roles are changed.")


@routes.post("/people/{user}/active", refused=show_person)
def switch(context: PageContext) -> Response:
    user_id = context.parameters["user"]
    with context.write() as work:
        user = people.set_active(work, user_id=user_id, active=context.form.text("active") == "1")
    effect = "can sign in again" if user.active else "is switched off; sessions and tokens stopped working"
    return context.redirect(f"/people/{user_id}", f"{user.name} {effect}.")


@routes.post("/people/{user}/reset")
def reset(context: PageContext) -> Response:
    """A link for a new password; like every secret it is shown once."""
    with context.write() as work:
        link = people.reset_link(work, user_id=context.parameters["user"])
    return show_person(context, link=link)


@routes.post("/people/{user}/second-factor")
def reset_second_factor(context: PageContext) -> Response:
    """For somebody who lost their authenticator and their recovery codes."""
    user_id = context.parameters["user"]
    with context.write() as work:
        second_factor.reset(work, user_id=user_id)
    return context.redirect(f"/people/{user_id}", "The second factor is gone; the password alone signs in.")


@routes.post("/people/{user}/tokens/{token}/revoke")
def revoke_token(context: PageContext) -> Response:
    with context.write() as work:
        token = tokens.revoke_token(work, token_id=context.parameters["token"])
    return context.redirect(f"/people/{context.parameters['user']}", f"The token {token.name} works no longer.")
