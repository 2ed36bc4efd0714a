"""Notifications, and how one wants to get them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query

from aegis.catalog import records
from aegis.catalog.records import Page
from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import IdPath
from aegis.catalog.server.api.calls import ApiRouter, Paged, Write
from aegis.catalog.service import notification_choices, notifications
from aegis.catalog.service.catalog import Work

router = ApiRouter(tags=["notifications"])


@router.reads("/notifications", "Notifications")
def list_notifications(
    work: Work, page: Paged, unseen: Annotated[bool, Query(description="Only what is new.")] = False
) -> Page[records.Notification]:
    """One's own notifications, the newest first."""
    return notifications.list_notifications(work, unseen=unseen, page=page)


@router.writes("/notifications/seen", "Everything was read")
def see_all(work: Work) -> records.Seen:
    """Mark all notifications as read."""
    return records.Seen(notifications=notifications.see_all(work))


@router.writes("/notifications/{notification_id}/seen", "One was read")
def see(work: Work, notification_id: IdPath) -> records.Notification:
    """Mark one notification as read; twice is no error."""
    return notifications.see(work, notification_id=notification_id)


@router.reads("/me/notifications", "How am I notified?")
def choice(work: Work) -> records.NotificationChoice:
    """How one is notified beside the inbox."""
    return notification_choices.choice(work)


@router.writes("/me/notifications", "Choose how to be notified", method="PUT", secret="secret")  # noqa: S106 - a field
def choose(work: Work, body: bodies.NotificationChoice) -> records.NewNotificationChoice:
    """By mail, by a webhook, or in the inbox only; a new webhook's secret is shown once. This needs a session."""
    return notification_choices.choose(work, **body.keywords())


@router.post("/me/notifications/code", response_model=records.NotificationChoice, summary="Confirm a mail address")
def confirm(call: Write, body: bodies.MailCode) -> Any:
    """The code that came by mail; from then on mails go there. This needs a session."""
    return notification_choices.confirm(call.catalog, call.actor, code=body.code)
