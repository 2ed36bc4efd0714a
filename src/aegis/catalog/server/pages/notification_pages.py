"""The inbox, and how one is notified beside it."""

from __future__ import annotations

from starlette.responses import Response

from aegis.catalog.server.pages.page import PageContext, PageRoutes
from aegis.catalog.service import notification_choices, notifications
from aegis.errors import TooManyAttemptsError

routes = PageRoutes()


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
