"""One's own account: roles, password, the tokens for programs, and the keys that one signs releases with."""

from __future__ import annotations

from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.records import Scope
from aegis.catalog.server.lanes import passwords
from aegis.catalog.server.pages.page import PageContext, PageRoutes
from aegis.catalog.server.session import SESSION_COOKIE
from aegis.catalog.server.uploads import Form
from aegis.catalog.service import open_sessions, people, second_factor, signing_keys, tokens
from aegis.catalog.service.products import product_choices
from aegis.errors import InputError, NotFoundError, ServiceError
from aegis.report.figures import count

routes = PageRoutes()

SCOPES = (
    (Scope.READ, "read", "see what you see"),
    (Scope.PUSH, "push", "register products, push summaries and releases"),
    (Scope.REQUEST, "request", "ask for access and download"),
    (Scope.DECIDE, "decide", "propose configurations and decide requests"),
    (Scope.ADMIN, "admin", "people and the whole audit"),
)


@routes.get("/account")
def show_account(context: PageContext) -> Response:
    with context.read() as work:
        user = people.me(work)
        listed = open_sessions.list_sessions(work, secret=context.identity.secret)
        factor = second_factor.state(work)
        has_password = people.has_password(work)
    settings = context.catalog.settings
    return context.render(
        "account.html",
        title="Your account",
        user=user,
        sessions=listed,
        factor=factor,
        has_password=has_password and settings.local_accounts,
        organisation=settings.oidc_name if settings.oidc_issuer else None,
        shortest=settings.password_characters,
    )


@routes.post("/account", lane=passwords, refused=show_account, also=(ServiceError,))
def change_password(context: PageContext) -> Response:
    """Another password; all sessions end with it, this one too."""
    form = context.form
    if form.raw("new") != form.raw("again"):
        raise InputError("the two new passwords differ; type them again")
    people.change_password(context.catalog, context.actor, old=form.raw("old"), new=form.raw("new"))
    response = context.redirect("/sign-in", "The password is changed. Sign in with the new one.")
    context.delete_cookie(response, SESSION_COOKIE)
    return response


@routes.post("/account/sessions/end")
def end_others(context: PageContext) -> Response:
    """End every session of this person but the one that asks."""
    with context.write() as work:
        number = open_sessions.end_others(work, secret=context.identity.secret or "")
    return context.redirect("/account", f"{count(number, 'other session')} ended.")


@routes.post("/account/sessions/{session}/end")
def end_session(context: PageContext) -> Response:
    with context.write() as work:
        open_sessions.end_session(work, session_id=context.parameters["session"])
    return context.redirect("/account", "The session is ended.")


@routes.get("/tokens")
def show_tokens(context: PageContext, *, made: records.NewToken | None = None) -> Response:
    with context.read() as work:
        page = tokens.list_tokens(work, page=context.page_request)
        choices = product_choices(work)
    return context.render(
        "tokens.html",
        title="Tokens",
        tokens=page.items,
        paging=context.paging(page),
        values=context.form if context.problem else Form(fields={"scopes": ("read", "push")}),
        made=made,
        products=choices,
        scopes=[scope for scope in SCOPES if scope[0] is not Scope.ADMIN or context.actor.is_admin],
        most_days=context.catalog.settings.token_days,
    )


@routes.post("/tokens", refused=show_tokens, also=(NotFoundError,))
def make_token(context: PageContext) -> Response:
    """The token is shown on this one answer and never again."""
    form = context.form
    with context.write() as work:
        made = tokens.create_token(
            work,
            name=form.text("name"),
            scopes=form.texts("scopes"),
            days=form.whole("days", what="the number of days"),
            product=form.text("product") or None,
        )
    return show_tokens(context, made=made)


@routes.post("/tokens/{token}/revoke")
def revoke_token(context: PageContext) -> Response:
    with context.write() as work:
        token = tokens.revoke_token(work, token_id=context.parameters["token"])
    return context.redirect("/tokens", f"The token {token.name} works no longer.")


@routes.get("/account/keys")
def show_keys(context: PageContext) -> Response:
    with context.read() as work:
        keys = signing_keys.list_keys(work)
    required = context.catalog.settings.signatures_required
    return context.render("keys.html", title="Signing keys", keys=keys, required=required, values=context.form)


@routes.post("/account/keys", refused=show_keys)
def register_key(context: PageContext) -> Response:
    form = context.form
    with context.write() as work:
        key = signing_keys.register(work, name=form.text("name"), public=form.text("public"))
    return context.redirect("/account/keys", f"The key {key.fingerprint} is registered.")


@routes.post("/account/keys/{key}/revoke")
def revoke_key(context: PageContext) -> Response:
    with context.write() as work:
        key = signing_keys.revoke(work, key_id=context.parameters["key"])
    return context.redirect("/account/keys", f"The key {key.fingerprint} counts no longer.")
