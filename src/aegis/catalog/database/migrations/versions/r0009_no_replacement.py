"""On SQLite a row of the record or of a ledger cannot be replaced by adding another one in its place."""

from __future__ import annotations

from alembic import op

revision = "0009"
down_revision = "0008"

_SAME = {
    "audit": "SELECT 1 FROM audit WHERE sequence = NEW.sequence",
    "ledger_entries": "SELECT 1 FROM ledger_entries WHERE product_id = NEW.product_id AND sequence = NEW.sequence",
}


def upgrade() -> None:
    """Add the triggers; no row is touched. PostgreSQL counts such a replacement as a change and refuses it already."""
    if op.get_bind().dialect.name != "sqlite":
        return
    for table, same in _SAME.items():  # INSERT OR REPLACE removes a row without asking the trigger for that
        called = table.removesuffix("_entries")
        refused = f"SELECT RAISE(ABORT, 'the {called} is append-only')"
        op.execute(
            f"CREATE TRIGGER {called}_is_not_replaced BEFORE INSERT ON {table} WHEN EXISTS ({same}) "
            f"BEGIN {refused}; END"
        )
