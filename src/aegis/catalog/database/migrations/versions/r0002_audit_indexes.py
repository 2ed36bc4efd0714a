"""The record can be looked through by person, by act, by time, and for a hash that was noted earlier."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the indexes; no row is touched."""
    op.create_index("audit_of_actor", "audit", ["actor", "sequence"])
    op.create_index("audit_of_action", "audit", ["action", "sequence"])
    op.create_index("audit_by_time", "audit", ["at"])
    op.create_index("audit_by_hash", "audit", ["hash"])
