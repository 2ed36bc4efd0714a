"""Accounts: one's own, with its tokens, signing keys and notifications; and everybody's, for administrators."""

from __future__ import annotations

from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.records import Scope, UserRole
from aegis.catalog.server.limits import password_lane
from aegis.catalog.server.pages.page import PageContext, PageRoutes
from aegis.catalog.server.session import SESSION_COOKIE
from aegis.catalog.server.uploads import Form
from aegis.catalog.service import (
    notification_choices,
    notifications,
    people,
    second_factor,
    sessions,
    signing_keys,
    tokens,
)
from aegis.catalog.service.paging import MOST, PageRequest
from aegis.catalog.service.permissions import Permission, require
from aegis.catalog.service.products import product_choices
from aegis.errors import InputError, NotFoundError, ServiceError, TooManyAttemptsError
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
        listed = sessions.list_sessions(work, secret=context.identity.secret)
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


@routes.post("/account", lane=password_lane, refused=show_account, also=(ServiceError,))
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
        number = sessions.end_others(work, secret=context.identity.secret or "")
    return context.redirect("/account", f"{count(number, 'other session')} ended.")


@routes.post("/account/sessions/{session}/end")
def end_session(context: PageContext) -> Response:
    with context.write() as work:
        sessions.end_session(work, session_id=context.parameters["session"])
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


# The inbox, and how one is notified beside it


@routes.get("/inbox")
def show_inbox(context: PageContext) -> Response:
    with context.read() as work:
        page = notifications.list_notifications(work, page=context.page_request)
    return context.render(
        "inbox.html",
        title="Inbox",
        items=page.items,
        any_new=any(item.seen_at is None for item in page.items),
        paging=context.paging(page),
    )


@routes.post("/inbox/seen")
def see_all(context: PageContext) -> Response:
    with context.write() as work:
        notifications.see_all(work)
    return context.redirect("/inbox", "Everything is marked as read.")


@routes.post("/inbox/{notification}")
def open_one(context: PageContext) -> Response:
    """Mark it as read, and on to the page that it is about."""
    with context.write() as work:
        item = notifications.see(work, notification_id=context.parameters["notification"])
    return context.redirect(item.path)


@routes.get("/account/notifications")
def show_choice(context: PageContext, *, secret: str = "") -> Response:
    with context.read() as work:
        choice = notification_choices.choice(work)
    form = context.form
    return context.render(
        "notifications.html",
        title="Notifications",
        choice=choice,
        channel=form.text("channel") or choice.channel,
        mail_address=form.text("mail_address") or choice.mail_address or "",
        webhook_url=form.text("webhook_url") or choice.webhook_url or "",
        secret=secret,
    )


@routes.post("/account/notifications", refused=show_choice)
def choose(context: PageContext) -> Response:
    """The secret of a new webhook is on this one answer and never again."""
    form = context.form
    channel = form.text("channel")
    webhook_url = form.text("webhook_url") if channel == "webhook" else None
    notification_choices.check_webhook(context.catalog, context.actor, webhook_url)
    with context.write() as work:
        made = notification_choices.choose(
            work,
            channel=channel,
            mail_address=form.text("mail_address") if channel == "mail" else None,
            webhook_url=webhook_url,
        )
    if made.secret:
        return show_choice(context, secret=made.secret)
    code_sent = made.choice.channel == "mail" and not made.choice.mail_confirmed
    notice = "A code is on its way to the address." if code_sent else "The choice is saved."
    return context.redirect("/account/notifications", notice)


@routes.post("/account/notifications/code", refused=show_choice, also=(TooManyAttemptsError,))
def confirm(context: PageContext) -> Response:
    notification_choices.confirm(context.catalog, context.actor, code=context.form.text("code"))
    return context.redirect("/account/notifications", "The address is confirmed; mails go there from now on.")


# People and their roles, for administrators

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
def revoke_their_token(context: PageContext) -> Response:
    with context.write() as work:
        token = tokens.revoke_token(work, token_id=context.parameters["token"])
    return context.redirect(f"/people/{context.parameters['user']}", f"The token {token.name} works no longer.")
