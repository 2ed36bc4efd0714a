"""The head of the audit moves with every row that is added, in the same statement."""

from __future__ import annotations

from alembic import op

revision = "0008"
down_revision = "0007"

_MOVE = "UPDATE chain_head SET sequence = NEW.sequence, hash = NEW.hash WHERE id = 1 AND sequence < NEW.sequence"
_SQLITE = (f"CREATE TRIGGER audit_moves_its_head AFTER INSERT ON audit BEGIN {_MOVE}; END",)
_POSTGRES = (
    f"CREATE FUNCTION move_chain_head() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {_MOVE}; RETURN NULL; END $$",
    "CREATE TRIGGER audit_moves_its_head AFTER INSERT ON audit FOR EACH ROW EXECUTE FUNCTION move_chain_head()",
)


def upgrade() -> None:
    """Add the trigger; no row is touched."""
    for statement in _SQLITE if op.get_bind().dialect.name == "sqlite" else _POSTGRES:
        op.execute(statement)
