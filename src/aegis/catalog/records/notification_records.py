"""What people are notified of, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from pydantic import Field


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """One message to a person: a sentence, and the page of the console that it is about."""

    id: str
    kind: Annotated[str, Field(description="What it is about: `asked`, `approved`, `to fulfil`, `ready`, …")]
    words: str
    path: str
    product_id: str | None
    product_name: str | None
    created_at: datetime
    seen_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationChoice:
    """How somebody gets messages beside the inbox."""

    channel: Annotated[str, Field(description="`inbox` (nowhere else), `mail` or `webhook`.")]
    mail_address: str | None
    mail_confirmed: Annotated[bool, Field(description="The code that was sent to the address came back.")]
    mail_offered: Annotated[bool, Field(description="Whether this catalog sends mails at all.")]
    webhook_url: str | None
    failed: Annotated[str | None, Field(description="Why the latest message did not get through, if it did not.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNotificationChoice:
    """A choice that was just made."""

    choice: NotificationChoice
    secret: Annotated[
        str, Field(description="What a new webhook's signatures are made with; shown now and never again.")
    ] = field(repr=False, default="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """How many notifications were new."""

    notifications: int
