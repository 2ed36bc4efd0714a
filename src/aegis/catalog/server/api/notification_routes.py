"""What one was told, and how one wants to be told."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.records import Page
from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import IdPath
from aegis.catalog.server.api.calls import JsonRoute, Paged, Read, Write
from aegis.catalog.service import notification_choices, notifications

router = APIRouter(tags=["notifications"], route_class=JsonRoute)


@router.get("/notifications", response_model=Page[records.Notification], summary="What was I told?")
def list_notifications(
    call: Read, page: Paged, unseen: Annotated[bool, Query(description="Only what is new.")] = False
) -> Any:
    """One's own notifications, the newest first."""
    with call.read() as work:
        return notifications.list_notifications(work, unseen=unseen, page=page)


@router.post("/notifications/seen", response_model=records.Seen, summary="Everything was read")
def see_all(call: Write) -> Response:
    """Mark all notifications as read."""
    return call.once(records.Seen, lambda work: records.Seen(notifications=notifications.see_all(work)))


@router.post("/notifications/{notification_id}/seen", response_model=records.Notification, summary="One was read")
def see(call: Write, notification_id: IdPath) -> Response:
    """Mark one notification as read; twice is no error."""
    return call.once(records.Notification, lambda work: notifications.see(work, notification_id=notification_id))


@router.get("/me/notifications", response_model=records.NotificationChoice, summary="How am I told?")
def choice(call: Read) -> Any:
    """How one is told beside the inbox."""
    with call.read() as work:
        return notification_choices.choice(work)


@router.put("/me/notifications", response_model=records.NewNotificationChoice, summary="Choose how to be told")
def choose(call: Write, body: bodies.NotificationChoice) -> Response:
    """By mail, by a webhook, or in the inbox only; a new webhook's secret is shown once. This needs a session."""
    return call.once(
        records.NewNotificationChoice,
        lambda work: notification_choices.choose(
            work, channel=body.channel, mail_address=body.mail_address, webhook_url=body.webhook_url
        ),
        body=body,
        secret="secret",  # noqa: S106 - the name of a field
    )


@router.post("/me/notifications/code", response_model=records.NotificationChoice, summary="Confirm a mail address")
def confirm(call: Write, body: bodies.MailCode) -> Any:
    """The code that came by mail; from then on mails go there. This needs a session."""
    return notification_choices.confirm(call.catalog, call.actor, code=body.code)
