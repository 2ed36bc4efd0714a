"""Bring the tables of a database to the form this Aegis knows, one process at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from aegis.errors import InputError

FOLDER = Path(__file__).parent / "migrations"
_LOCK = 0x61656769  # any number, as long as every Aegis takes the same


def migrate(connection: Connection) -> None:
    """Run the migrations that are missing, all or none; a database of a newer Aegis is refused."""
    script = ScriptDirectory(str(FOLDER))
    with connection.begin():  # on SQLite this takes the write lock
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK})
        current = MigrationContext.configure(connection).get_current_revision()
        if current == script.get_current_head():
            return
        if current is not None and current not in {each.revision for each in script.walk_revisions()}:
            raise InputError(
                f"the database has the form {current} of a newer Aegis, this one knows up to "
                f"{script.get_current_head()}; install the newer one"
            )

        def steps(revision: Any, _context: MigrationContext) -> Any:
            return script._upgrade_revs("head", revision)

        with EnvironmentContext(Config(), script, fn=steps) as environment:
            environment.configure(connection=connection, transactional_ddl=True)
            environment.run_migrations()


def current_form(connection: Connection) -> str:
    """The name of the form that the tables have."""
    return str(MigrationContext.configure(connection).get_current_revision())
