"""People sign in with their organisation, or with a second factor; a role may be held for a while."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add four tables and a column that is empty for every role there is."""
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "external_identities",
        sa.Column("issuer", sa.String(255), primary_key=True),
        sa.Column("subject", sa.String(255), primary_key=True),
        sa.Column("user_id", sa.String(32), sa.ForeignKey("users.id"), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("last_seen_at", moment, nullable=False),
    )
    op.create_index("ix_external_identities_user_id", "external_identities", ["user_id"])
    op.create_table(
        "second_factors",
        sa.Column("user_id", sa.String(32), sa.ForeignKey("users.id"), primary_key=True),
        sa.Column("secret", sa.String(64), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("confirmed_at", moment),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "recovery_codes",
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("user_id", sa.String(32), sa.ForeignKey("users.id"), nullable=False),
        sa.Column("used_at", moment),
    )
    op.create_index("ix_recovery_codes_user_id", "recovery_codes", ["user_id"])
    op.create_table(
        "half_sign_ins",
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("user_id", sa.String(32), sa.ForeignKey("users.id"), nullable=False),
        sa.Column("expires_at", moment, nullable=False),
    )
    op.create_index("ix_half_sign_ins_user_id", "half_sign_ins", ["user_id"])
    op.create_index("ix_half_sign_ins_expires_at", "half_sign_ins", ["expires_at"])
    op.add_column("assignments", sa.Column("valid_until", moment, nullable=True))
