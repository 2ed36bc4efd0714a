"""Notifications, how people want to get them, and the deliveries that are still to be made.

A notification is written in the transaction of the act that it is about, and so is the delivery that takes it
elsewhere: there is never one without the other.
"""

from __future__ import annotations

import datetime

from sqlalchemy import ForeignKey, Index, Integer, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from aegis.catalog.database.tables import ID_LENGTH, Table, id_column, of_table


class Notification(Table):
    """A sentence for one person, and the page that it is about. ``key`` keeps it from being written twice."""

    __tablename__ = "notifications"
    __table_args__ = (
        UniqueConstraint("user_id", "key"),
        Index("notifications_of_user", "user_id", "created_at"),
        Index(
            "notifications_unseen",
            "user_id",
            sqlite_where=text("seen_at IS NULL"),
            postgresql_where=text("seen_at IS NULL"),
        ),
    )
    id: Mapped[str] = id_column()
    user_id: Mapped[str] = of_table("users.id")
    kind: Mapped[str] = mapped_column(String(32))
    words: Mapped[str]
    path: Mapped[str]
    product_id: Mapped[str | None] = of_table("products.id", nullable=True)
    key: Mapped[str | None] = mapped_column(String(128))
    created_at: Mapped[datetime.datetime]
    seen_at: Mapped[datetime.datetime | None]


class NotificationChoice(Table):
    """How somebody wants to be notified; a mail address counts once its code came back."""

    __tablename__ = "notification_choices"
    user_id: Mapped[str] = mapped_column(String(ID_LENGTH), ForeignKey("users.id"), primary_key=True)
    channel: Mapped[str] = mapped_column(String(16))
    mail_address: Mapped[str | None] = mapped_column(String(254))
    mail_confirmed_at: Mapped[datetime.datetime | None]
    code_hash: Mapped[str | None] = mapped_column(String(64))
    code_expires_at: Mapped[datetime.datetime | None]
    webhook_url: Mapped[str | None]
    webhook_secret: Mapped[str | None] = mapped_column(String(64))
    changed_at: Mapped[datetime.datetime]


class Delivery(Table):
    """A notification on its way out: claimed by one worker at a time, together with what goes in the same message.

    ``batch`` is drawn when it is first claimed and names the message from then on, however often it is tried.
    """

    __tablename__ = "deliveries"
    __table_args__ = (
        Index("deliveries_due", "state", "due_at"),
        Index("deliveries_of_batch", "batch"),
        Index("deliveries_of_user", "user_id", "state"),
    )
    id: Mapped[str] = id_column()
    user_id: Mapped[str] = of_table("users.id")
    notification_id: Mapped[str | None] = of_table("notifications.id", nullable=True, index=True)
    channel: Mapped[str] = mapped_column(String(16))
    state: Mapped[str] = mapped_column(String(16))
    batch: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    attempts: Mapped[int] = mapped_column(Integer)
    due_at: Mapped[datetime.datetime]
    worker: Mapped[str | None] = mapped_column(String(64))
    reason: Mapped[str | None]
    created_at: Mapped[datetime.datetime]
    ended_at: Mapped[datetime.datetime | None]
