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


NEWEST = "head"


def migrate(connection: Connection, *, form: str = NEWEST) -> None:
    """Run the migrations that are missing up to ``form``, all or none; a database of a newer Aegis is refused."""
    script = ScriptDirectory(str(FOLDER))
    _check_known(script, form)
    with connection.begin():  # on SQLite this takes the write lock
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK})
        current = MigrationContext.configure(connection).get_current_revision()
        if current == script.get_current_head():
            return
        _check_known(script, current)

        def steps(revision: Any, _context: MigrationContext) -> Any:
            return script._upgrade_revs(form, revision)

        with EnvironmentContext(Config(), script, fn=steps) as environment:
            environment.configure(connection=connection, transactional_ddl=True)
            environment.run_migrations()


def _check_known(script: ScriptDirectory, form: str | None) -> None:
    revisions = {None, NEWEST, *(step.revision for step in script.walk_revisions())}
    if form not in revisions:
        raise InputError(
            f"the catalog has the form {form} of a newer Aegis, this one knows up to {script.get_current_head()}; "
            "install the newer one"
        )


def current_form(connection: Connection) -> str:
    """The name of the form that the tables have."""
    return str(MigrationContext.configure(connection).get_current_revision())
