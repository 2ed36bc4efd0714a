"""Notifications, how each person wants them, and the deliveries that are still to be made."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add three tables; no row is touched."""
    moment = sa.DateTime(timezone=True)
    unseen = sa.text("seen_at IS NULL")
    op.create_table(
        "notifications",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("user_id", sa.String(32), sa.ForeignKey("users.id"), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("product_id", sa.String(32), sa.ForeignKey("products.id")),
        sa.Column("key", sa.String(128)),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("seen_at", moment),
        sa.UniqueConstraint("user_id", "key"),
    )
    op.create_index("notifications_of_user", "notifications", ["user_id", "created_at"])
    op.create_index("notifications_unseen", "notifications", ["user_id"], sqlite_where=unseen, postgresql_where=unseen)
    op.create_table(
        "notification_choices",
        sa.Column("user_id", sa.String(32), sa.ForeignKey("users.id"), primary_key=True),
        sa.Column("channel", sa.String(16), nullable=False),
        sa.Column("mail_address", sa.String(254)),
        sa.Column("mail_confirmed_at", moment),
        sa.Column("code_hash", sa.String(64)),
        sa.Column("code_expires_at", moment),
        sa.Column("webhook_url", sa.Text()),
        sa.Column("webhook_secret", sa.String(64)),
        sa.Column("changed_at", moment, nullable=False),
    )
    op.create_table(
        "deliveries",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("user_id", sa.String(32), sa.ForeignKey("users.id"), nullable=False),
        sa.Column("notification_id", sa.String(32), sa.ForeignKey("notifications.id")),
        sa.Column("channel", sa.String(16), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("batch", sa.String(32)),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", moment, nullable=False),
        sa.Column("worker", sa.String(64)),
        sa.Column("reason", sa.Text()),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("ended_at", moment),
    )
    op.create_index("deliveries_due", "deliveries", ["state", "due_at"])
    op.create_index("deliveries_of_batch", "deliveries", ["batch"])
    op.create_index("deliveries_of_user", "deliveries", ["user_id", "state"])
    op.create_index("ix_deliveries_notification_id", "deliveries", ["notification_id"])
