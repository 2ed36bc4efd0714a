"""Triggers by which the database itself refuses to change, remove or empty a table."""

from __future__ import annotations

from alembic import op


def append_only(table: str, *, called: str) -> None:
    """Let rows of a table be added only; ``called`` is what the triggers and their message call it."""
    message = f"the {called} is append-only"
    if op.get_bind().dialect.name == "sqlite":
        for act, name in (("UPDATE", "changed"), ("DELETE", "removed")):
            op.execute(
                f"CREATE TRIGGER {called}_is_not_{name} BEFORE {act} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{message}'); END"
            )
        return
    op.execute(
        f"CREATE FUNCTION {called}_is_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{message}'; END $$"
    )
    for act, name, unit in (("UPDATE OR DELETE", "changed", "ROW"), ("TRUNCATE", "emptied", "STATEMENT")):
        op.execute(
            f"CREATE TRIGGER {called}_is_not_{name} BEFORE {act} ON {table} "
            f"FOR EACH {unit} EXECUTE FUNCTION {called}_is_append_only()"
        )
