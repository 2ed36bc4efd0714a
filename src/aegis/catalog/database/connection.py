"""The database behind the catalog: a SQLite file by default, PostgreSQL by URL, in the form that this Aegis knows.

An acknowledged write survives the death of every process: SQLite flushes its log at each commit, PostgreSQL does by
itself. Whoever writes on SQLite takes the write lock first (BEGIN IMMEDIATE), so that nobody is refused half-way.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, TypeVar

from alembic import op
from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InvalidatePoolError, OperationalError
from sqlalchemy.orm import Session

from aegis.catalog.database.storage import storing
from aegis.errors import EngineError, InputError, MissingExtraError

T = TypeVar("T")
MIGRATIONS = Path(__file__).parent / "migrations"
NEWEST = "head"
_MIGRATION_LOCK = 0x61656769  # any number, as long as every Aegis takes the same
BUSY_SECONDS = 30
DEFAULT_POOL = 12
_FRESH_S = 1.0
"""A connection that was used this lately is taken for alive; any other one is pinged first."""


class Database:
    """An open, migrated database."""

    def __init__(self, engine: Engine, *, wait_seconds: float = 0.0) -> None:
        self.engine = engine
        self._wait_seconds = wait_seconds
        # A statement of PostgreSQL sees what is committed when it begins, in a transaction or not: a read needs none,
        # and is spared the two messages that begin and end one. On SQLite a read is of one moment.
        alone = {} if self.is_sqlite else {"isolation_level": "AUTOCOMMIT"}
        self._reading = engine.execution_options(aegis_writes=False, **alone)
        self._writing = engine.execution_options(aegis_writes=True)

    @classmethod
    def open(cls, url: str, *, pool_size: int = DEFAULT_POOL, form: str = NEWEST, wait_seconds: float = 0.0) -> Self:
        """Connect and bring the tables up to date, or up to an older ``form``; that of a newer Aegis is refused."""
        parsed = parse_url(url)
        if parsed.get_backend_name() == "sqlite":
            engine = _sqlite(parsed, pool_size)
        else:
            engine = _postgres(parsed, pool_size)
        database = cls(engine, wait_seconds=wait_seconds)
        try:
            with database._writing.connect() as connection:
                migrate(connection, form=form)
        except DBAPIError as error:
            engine.dispose()
            raise EngineError(
                f"the database {parsed.render_as_string(hide_password=True)} cannot be opened "
                f"({type(error.orig).__name__}); check that it runs and that the address is right"
            ) from None
        except BaseException:
            engine.dispose()
            raise
        return database

    @property
    def is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def read(self, *, one_moment: bool = False) -> Iterator[Session]:
        """A session that only reads; nothing it does is kept.

        With ``one_moment`` everything it sees is of the moment at which it began, as it always is on SQLite.
        """
        with Session(self._reading, expire_on_commit=False, autoflush=False) as session:
            self._connect(session, {"isolation_level": "REPEATABLE READ"} if one_moment else {})
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A session that holds the write lock where there is only one; commit inside, else nothing happened."""
        with Session(self._writing, expire_on_commit=False) as session:
            self._connect(session)
            yield session

    @contextmanager
    def look(self) -> Iterator[Connection]:
        """A bare connection that only reads: for the one query that every request makes."""
        with self._with_retry(self._reading.connect) as connection:
            yield connection

    def _connect(self, session: Session, options: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Begin the transaction of a session."""
        if self.is_sqlite:
            return  # it begins with its first statement, and a file is there or not

        def begin() -> None:
            try:
                session.connection(execution_options=dict(options))
            except OperationalError:
                session.rollback()
                raise

        self._with_retry(begin)

    def _with_retry(self, begin: Callable[[], T]) -> T:
        """Connect; a server that is just starting again is waited for."""
        deadline = time.monotonic() + self._wait_seconds
        pause_s = 0.05
        while True:
            try:
                return begin()
            except OperationalError:
                if time.monotonic() + pause_s > deadline:
                    raise
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, 1.0)

    def close(self) -> None:
        self.engine.dispose()


def parse_url(url: str) -> URL:
    """The address of a database; a bare path is a SQLite file.

    >>> parse_url("postgres://me@host/catalog").drivername
    'postgresql+psycopg'
    >>> parse_url("folder/catalog.sqlite").render_as_string()
    'sqlite+pysqlite:///folder/catalog.sqlite'
    """
    if "://" not in url:
        url = f"sqlite:///{url}"
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise InputError(
            "the database address cannot be read; write sqlite:///FILE or postgresql://HOST/NAME"
        ) from None
    name = parsed.drivername.split("+")[0]
    if name in ("postgres", "postgresql"):
        return parsed.set(drivername="postgresql+psycopg")
    if name == "sqlite":
        if parsed.database in (None, "", ":memory:"):
            raise InputError("a catalog in memory would forget everything; give the path of a SQLite file")
        return parsed.set(drivername="sqlite+pysqlite")
    raise InputError("the catalog lives in SQLite or PostgreSQL; write sqlite:///FILE or postgresql://HOST/NAME")


def _sqlite(url: URL, pool_size: int) -> Engine:
    assert url.database is not None
    path = Path(url.database)
    with storing():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    engine = create_engine(
        url,
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_timeout=BUSY_SECONDS,
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions begin where we say so, below
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}")
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("aegis_writes", True)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgres(url: URL, pool_size: int) -> Engine:
    try:
        engine = create_engine(url, pool_size=pool_size, max_overflow=pool_size, pool_timeout=BUSY_SECONDS)
    except ModuleNotFoundError:
        raise MissingExtraError(feature="A catalog in PostgreSQL", extra="postgres") from None

    @event.listens_for(engine, "checkin")
    def _put_back(_connection: Any, record: Any) -> None:
        record.info["used_s"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def _take(connection: Any, record: Any, _proxy: Any) -> None:
        """Ping a connection that was idle for a while; the pool replaces a dead one."""
        if time.monotonic() - record.info.get("used_s", math.inf) <= _FRESH_S:
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            raise InvalidatePoolError from error  # whatever ended this one ended the others

    return engine


# Migrations


def migrate(connection: Connection, *, form: str = NEWEST) -> None:
    """Run the migrations that are missing up to ``form``, all or none; a database of a newer Aegis is refused."""
    script = ScriptDirectory(str(MIGRATIONS))
    _check_known(script, form)
    with connection.begin():  # on SQLite this takes the write lock
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _MIGRATION_LOCK})
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
