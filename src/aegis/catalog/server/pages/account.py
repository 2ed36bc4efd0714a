"""One's own account: roles, password, and the tokens for programs."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from aegis.catalog.server.pages.paging import paging
from aegis.catalog.server.pages.routing import Door, get, post, sentence
from aegis.catalog.server.pages.visit import SESSION_COOKIE, Visit
from aegis.catalog.service import people, tokens
from aegis.catalog.service.actor import Scope
from aegis.catalog.service.person_views import NewToken
from aegis.catalog.service.product_choice import product_choices
from aegis.errors import AegisError, InputError, NotFoundError, NotSignedInError, ServiceError

SCOPES = (
    (Scope.READ, "read", "see what you see"),
    (Scope.PUSH, "push", "register products, push summaries and releases"),
    (Scope.REQUEST, "request", "ask for access and download"),
    (Scope.DECIDE, "decide", "propose configurations and decide requests"),
    (Scope.ADMIN, "admin", "people, the whole audit, backups"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """What stands in the form for a token."""

    name: str = ""
    days: str = "90"
    product: str = ""
    scopes: tuple[str, ...] = ("read", "push")


def show_account(visit: Visit) -> Response:
    return _account(visit, problem=None)


def change_password(visit: Visit) -> Response:
    """Another password; all sessions end with it, this one too."""
    form = visit.form
    try:
        if form.raw("new") != form.raw("again"):
            raise InputError("the two new passwords differ; type them again")  # noqa: TRY301
        people.change_password(visit.catalog, visit.actor, old=form.raw("old"), new=form.raw("new"))
    except (InputError, ServiceError) as error:
        return _account(visit, problem=error)
    response = visit.go("/sign-in", "The password is changed. Sign in with the new one.")
    response.delete_cookie(SESSION_COOKIE, path="/", secure=visit.secure, httponly=True, samesite="lax")
    return response


def _account(visit: Visit, *, problem: AegisError | None) -> Response:
    with visit.read() as work:
        user = people.me(work)
    status = problem.http_status if problem else 200
    return visit.page(
        "account.html",
        # A wrong old password is no lost session.
        status=422 if isinstance(problem, NotSignedInError) else status,
        title="Your account",
        user=user,
        shortest=visit.catalog.settings.password_characters,
        problem=sentence(problem) if problem else None,
    )


def show_tokens(visit: Visit) -> Response:
    return _tokens(visit, Values(), made=None, problem=None)


def make_token(visit: Visit) -> Response:
    """The token is shown on this one answer and never again."""
    form = visit.form
    values = Values(
        name=form.text("name"), days=form.text("days"), product=form.text("product"), scopes=form.texts("scopes")
    )
    try:
        with visit.write() as work:
            made = tokens.create_token(
                work,
                name=values.name,
                scopes=values.scopes,
                days=form.whole("days", what="the number of days"),
                product=values.product or None,
            )
    except (InputError, NotFoundError) as error:
        return _tokens(visit, values, made=None, problem=error)
    return _tokens(visit, Values(), made=made, problem=None)


def revoke_token(visit: Visit) -> Response:
    with visit.write() as work:
        token = tokens.revoke_token(work, token_id=visit.names["token"])
    return visit.go("/tokens", f"The token {token.name} works no longer.")


def _tokens(visit: Visit, values: Values, *, made: NewToken | None, problem: AegisError | None) -> Response:
    with visit.read() as work:
        page = tokens.list_tokens(work, page=visit.page_request)
        choices = product_choices(work)
    return visit.page(
        "tokens.html",
        status=problem.http_status if problem else 200,
        title="Tokens",
        tokens=page.items,
        paging=paging(visit, page),
        values=values,
        made=made,
        products=choices,
        scopes=[one for one in SCOPES if one[0] is not Scope.ADMIN or visit.actor.is_admin],
        most_days=visit.catalog.settings.token_days,
        problem=sentence(problem) if problem else None,
    )


DOORS: tuple[Door, ...] = (
    get("/account", show_account),
    post("/account", change_password),
    get("/tokens", show_tokens),
    post("/tokens", make_token),
    post("/tokens/{token}/revoke", revoke_token),
)
