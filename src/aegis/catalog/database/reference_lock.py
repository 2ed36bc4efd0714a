"""A lock beside the database, for stores that have none: held by those who refer to files, alone by who removes one.

Whoever shares the database shares the lock: on SQLite a file beside it, on PostgreSQL an advisory lock of the server,
so that several machines may share a bucket. Both end with their process, however that ends.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path

from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from aegis.catalog.database.connection import parse_url
from aegis.catalog.database.storage import locked, storing
from aegis.errors import EngineError

_ADVISORY_KEY = 0x6165676973  # any number that nobody else takes in this database


class ReferenceLock:
    """The lock of the catalog in the database at ``database_url``."""

    def __init__(self, database_url: str) -> None:
        self._url = parse_url(database_url)

    def held(self, *, alone: bool) -> AbstractContextManager[bool]:
        """Hold it together with others, or ``alone`` if nobody does; gives whether it is held."""
        is_file = self._url.get_backend_name() == "sqlite"
        return self._held_file(alone=alone) if is_file else self._held_advisory(alone=alone)

    @cached_property
    def _engine(self) -> Engine:
        # Connections of their own: taken from the pool, many writers at once would wait for each other's.
        return create_engine(self._url, poolclass=NullPool)

    @contextmanager
    def _held_file(self, *, alone: bool) -> Iterator[bool]:
        path = Path(f"{self._url.database}.storage-lock")
        with storing():
            handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        with os.fdopen(handle, "rb") as file:
            yield locked(file, alone=alone)

    @contextmanager
    def _held_advisory(self, *, alone: bool) -> Iterator[bool]:
        ask = text("SELECT pg_try_advisory_lock(:key)" if alone else "SELECT true FROM pg_advisory_lock_shared(:key)")
        try:
            connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        except DBAPIError as error:
            raise _unanswered(error) from None
        with connection:
            try:
                is_held = bool(connection.scalar(ask, {"key": _ADVISORY_KEY}))
            except DBAPIError as error:
                raise _unanswered(error) from None
            yield is_held


def _unanswered(error: DBAPIError) -> EngineError:
    return EngineError(
        f"the database of the catalog does not lend its lock ({type(error.orig).__name__}); try again in a moment"
    )
