"""The ledger of each product, verdicts on several maskings together, keys of providers, signatures of releases."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from aegis.catalog.database.connection import append_only

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add four tables and three columns; releases from before are entered when the next one of their product is."""
    moment = sa.DateTime(timezone=True)
    document = sa.JSON(none_as_null=True)
    op.create_table(
        "ledger_entries",
        sa.Column("product_id", sa.String(32), sa.ForeignKey("products.id"), primary_key=True),
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, primary_key=True),
        sa.Column("at", moment, nullable=False),
        sa.Column("act", sa.String(16), nullable=False),
        sa.Column("content", document, nullable=False),
        sa.Column("previous", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    op.create_table(
        "ledger_heads",
        sa.Column("product_id", sa.String(32), sa.ForeignKey("products.id"), primary_key=True),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    op.create_table(
        "joint_verdicts",
        sa.Column("product_id", sa.String(32), sa.ForeignKey("products.id"), primary_key=True),
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("satisfied", sa.Boolean(), nullable=False),
        sa.Column("broken", document, nullable=False),
        sa.Column("judged_by", sa.String(32), sa.ForeignKey("users.id"), nullable=False),
        sa.Column("judged_at", moment, nullable=False),
    )
    op.create_table(
        "provider_keys",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("user_id", sa.String(32), sa.ForeignKey("users.id"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("public", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.String(16), nullable=False, unique=True),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("revoked_at", moment),
    )
    op.create_index("ix_provider_keys_user_id", "provider_keys", ["user_id"])
    op.add_column("requests", sa.Column("despite", sa.Text(), nullable=True))
    op.add_column("releases", sa.Column("signature", document, nullable=True))
    op.add_column("releases", sa.Column("attacks", document, nullable=True))
    append_only("ledger_entries", called="ledger")
