"""A table expression to a file, or to a table of a database; the engine does the writing.

A table of a database is written under another name and renamed in one transaction. Spark has none: what stood under the
name is dropped and the new table renamed, one after the other.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis
import ibis.expr.types as ir

from aegis.data import spark
from aegis.data.delimited import header_in
from aegis.data.engine import connect
from aegis.data.engine_words import in_our_words, quoted_name
from aegis.errors import DataError, EngineError, OutputError

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = (".csv", ".parquet")
PLACE = "_aegis_place"
_FULL = ("no space left", "file too large", "disk quota exceeded", "could not write")


def check_format(path: Path) -> None:
    """Raise unless the file's name says how to write it."""
    if path.suffix.lower() not in FORMATS:
        raise OutputError(f"{path.name} has no known format; end its name in .csv or .parquet")


def check_released(path: Path) -> None:
    """Raise unless a file of a known format is there."""
    check_format(path)
    if not path.is_file():
        raise DataError(f"there is no file {path}; check the path")


def is_csv(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


def numbered(table: ir.Table) -> ir.Table:
    """The table with its rows numbered, before joins put them into another order; nothing of that is written."""
    return table.mutate(**{PLACE: ibis.row_number()})


def in_order(table: ir.Table, *, shuffle: bool) -> ir.Table:
    """The rows in random order if ``shuffle``, else by their numbers where they are `numbered`."""
    numbers = PLACE in table.columns
    if shuffle:
        table = table.order_by(ibis.random())
    elif numbers:
        table = table.order_by(PLACE)
    return table.drop(PLACE) if numbers else table


def write_table(table: ir.Table, draft: Path, *, like: Path, shuffle: bool) -> None:
    """Write ``table`` to ``draft`` in the format of ``like``, in random row order if ``shuffle``."""
    table = in_order(table, shuffle=shuffle)
    # DuckDB would write beside the draft and rename: it leaves that file behind when the disk is full.
    how = {"use_tmp_file": False} if table.get_backend().name == "duckdb" else {}
    try:
        if table.get_backend().name == "pyspark":
            _write_batches(spark.batches(table), draft, csv=is_csv(like))
        elif is_csv(like):
            table.to_csv(draft, **how)
        else:
            table.to_parquet(draft, **how)
    except OSError as error:
        raise OutputError(f"{like} cannot be written: {error.strerror or type(error).__name__}") from None
    except Exception as error:  # an engine's message may quote data
        if any(sign in str(error).lower() for sign in _FULL):
            raise OutputError(f"{like} cannot be written: the disk is full or the file too large") from None
        ours = EngineError(f"the engine could not write {like.name} ({type(error).__name__})")
        raise in_our_words(error, ours) from None


def write_rows(table: pa.Table, draft: Path, *, like: Path) -> None:
    """Write rows that are here to ``draft`` in the format of ``like``, in their order."""
    from pyarrow.csv import write_csv  # part of the core, imported late because few need them here
    from pyarrow.parquet import write_table

    (write_csv if is_csv(like) else write_table)(table, draft)


def _write_batches(batches: pa.RecordBatchReader, draft: Path, *, csv: bool) -> None:
    """Rows as they come from an engine that would write a folder of files, somewhere in its own storage."""
    from pyarrow.csv import CSVWriter  # part of the core, imported late because only Spark needs them here
    from pyarrow.parquet import ParquetWriter

    with batches, draft.open("wb") as file:
        writer = CSVWriter(file, batches.schema) if csv else ParquetWriter(file, batches.schema)
        with writer:
            for batch in batches:
                writer.write_batch(batch)


def blank_is_missing(table: ir.Table) -> ir.Table:
    """The table with empty texts missing: a CSV file cannot tell the two apart, so nobody should count on it."""
    texts = {name: table[name].nullif("") for name, kind in table.schema().items() if kind.is_string()}
    return table.mutate(**texts) if texts else table


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """What one look into a written file tells: the hash and number of its bytes, and the header of a CSV file."""

    sha256: str
    bytes: int
    header: str | None


def look_into(file: Path, *, named: Path) -> WrittenFile:
    """Open a file of the format of its name once, to hash its bytes and to read its header.

    A header that cannot be read is left to whoever reads the rows: a file with another hash need not be readable.
    """
    if file.is_dir():
        raise DataError(f"{named} is a folder; give one file")
    with file.open("rb") as opened:
        sha256 = hashlib.file_digest(opened, "sha256").hexdigest()
        size = opened.tell()
        opened.seek(0)
        header = None
        with suppress(DataError):
            header = header_in(opened, named=named.name) if is_csv(named) else None
    return WrittenFile(sha256=sha256, bytes=size, header=header)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAddress:
    """A database and the name of a table in it, written ``postgresql://host/db#table``."""

    database: str
    table: str

    @classmethod
    def parse(cls, url: str) -> TableAddress:
        """From a URL.

        >>> TableAddress.parse("duckdb://shop.duckdb#released").table
        'released'
        """
        database, _, table = url.partition("#")
        if not table:
            raise OutputError("the URL of the output names no table; add #table at its end")
        return cls(database=database, table=table)


def is_url(out: Any) -> bool:
    return "://" in str(out)


@contextmanager
def draft_table(
    table: ir.Table, address: TableAddress, *, source: Any, shuffle: bool, overwrite: bool
) -> Iterator[tuple[Any, ir.Table]]:
    """Write ``table`` under a name of its own; it gets its real name when the block ends well, else it is dropped.

    Gives the connection and the table as written. ``source`` is the address that ``table`` was read from, where that
    is known: the same database does the writing itself, to another one the rows are sent.
    """
    backend = table.get_backend()
    same = isinstance(source, str) and source.partition("#")[0] == address.database
    connection = backend if same else connect(address.database)
    same = same or _one_place(connection, backend)
    connection = backend if same else connection
    if address.table in connection.list_tables() and not overwrite:
        raise OutputError(f"there is a table {address.table!r} already; choose another name or add --overwrite")
    draft = f"aegis_draft_{secrets.token_hex(6)}"
    ordered = in_order(table, shuffle=shuffle)
    try:
        try:
            connection.create_table(draft, ordered if same else ordered.to_pyarrow())
            written = connection.table(draft)
        except Exception as error:  # an engine's message may quote data
            ours = EngineError(f"the database could not write the table ({type(error).__name__})")
            raise in_our_words(error, ours) from None
        yield connection, written
        _rename(connection, draft, address.table, overwrite=overwrite)
    finally:
        with suppress(Exception):  # it has its real name by now, or the connection is gone
            if draft in connection.list_tables():
                connection.drop_table(draft)


def _one_place(first: Any, other: Any) -> bool:
    """Whether two connections are to the same database, so that rows need not travel."""
    if first.name != other.name or first.name == "duckdb":  # two embedded databases share a name only
        return False
    if first.name == "pyspark":
        return first._session is other._session
    return bool(first._con_args == other._con_args and first._con_kwargs == other._con_kwargs)


def _rename(connection: Any, draft: str, name: str, *, overwrite: bool) -> None:
    spark = connection.name == "pyspark"
    old, new = (quoted_name(place, spark=spark) for place in (name, draft))
    steps = [f"DROP TABLE IF EXISTS {old}"] * overwrite + [f"ALTER TABLE {new} RENAME TO {old}"]
    try:
        for step in steps if spark else ["; ".join(["BEGIN", *steps, "COMMIT"])]:
            connection.raw_sql(step)
    except Exception as error:
        with suppress(Exception):
            connection.raw_sql("ROLLBACK")
        ours = OutputError(f"the table could not be given its name {name!r} ({type(error).__name__})")
        raise in_our_words(error, ours) from None
