"""Real engines for the same questions: embedded DuckDB, a PostgreSQL server and a Spark of our own, started once."""

from __future__ import annotations

import gc
import importlib.util
import shutil
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ibis
import psycopg
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
def postgres_url(postgres_address: str) -> Iterator[str]:
    """The address of the PostgreSQL server that all tests share."""
    yield postgres_address
    # Ibis keeps connections until the process ends, and psycopg remarks on those that nobody closed.
    for connection in gc.get_objects():
        if isinstance(connection, psycopg.Connection):
            connection.close()


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
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        # Compiling a program for every question takes longer than these few rows; the cluster's test leaves it on.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
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


@dataclass
class Received:
    """How many rows came to the client, whatever way it asked for them."""

    rows: int = 0

    def spied(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def spy(*arguments: Any, **options: Any) -> Any:
            answer = function(*arguments, **options)
            self.rows += 0 if answer is None else len(answer) if isinstance(answer, list | pa.Table) else 1
            return answer

        return spy


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> Received:
    """A count of the rows that the drivers of PostgreSQL and Spark hand over, kept at their lowest doors."""
    seen = Received()
    for name in ("fetchone", "fetchmany", "fetchall", "__next__"):
        monkeypatch.setattr(psycopg.Cursor, name, seen.spied(getattr(psycopg.Cursor, name)))
        monkeypatch.setattr(psycopg.ServerCursor, name, seen.spied(getattr(psycopg.ServerCursor, name)))
    if importlib.util.find_spec("pyspark") is not None:
        from pyspark.sql.classic.dataframe import DataFrame

        for name in ("collect", "toArrow"):
            monkeypatch.setattr(DataFrame, name, seen.spied(getattr(DataFrame, name)))
        for name in ("toPandas", "toLocalIterator"):  # ways that nothing of ours may go while it counts
            monkeypatch.delattr(DataFrame, name)
    return seen


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


@pytest.fixture(params=ENGINES)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[pa.Table], tuple[str, str]]:
    """A way to put an Arrow table into each engine, which gives the engine's URL and the table's name in it."""
    kind: str = request.param
    if kind == "spark":
        request.getfixturevalue("spark")
        return lambda table: (SPARK, str(in_parts(table, tmp_path / "people")))
    url: str = f"duckdb://{tmp_path}/shop.duckdb" if kind == "duckdb" else request.getfixturevalue("postgres_url")

    def upload(table: pa.Table) -> tuple[str, str]:
        connection: Any = ibis.connect(url)
        connection.create_table("people", ibis.memtable(table), overwrite=True)
        connection.disconnect()
        return url, "people"

    return upload


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
