"""The policy and the roles that a request was approved under."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add a column; requests that were approved before do not say."""
    op.add_column("requests", sa.Column("approved_under", sa.JSON(none_as_null=True), nullable=True))
