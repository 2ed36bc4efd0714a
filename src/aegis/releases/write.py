"""A table expression to a file; the engine does the writing."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir

from aegis.data import spark
from aegis.data.delimited import header_in
from aegis.errors import DataError, EngineError, OutputError

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = (".csv", ".parquet")
_FULL = ("no space left", "file too large", "disk quota exceeded", "could not write")


def check_format(path: Path) -> None:
    """Raise unless the file's name says how to write it."""
    if path.suffix.lower() not in FORMATS:
        raise OutputError(f"{path.name} has no known format; end its name in .csv or .parquet")


def is_csv(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


def write_table(table: ir.Table, draft: Path, *, like: Path, shuffle: bool) -> None:
    """Write ``table`` to ``draft`` in the format of ``like``, in random row order if ``shuffle``."""
    if shuffle:
        table = table.order_by(ibis.random())
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
        raise EngineError(f"the engine could not write {like.name} ({type(error).__name__})") from None


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
    with file.open("rb") as opened:
        sha256 = hashlib.file_digest(opened, "sha256").hexdigest()
        size = opened.tell()
        opened.seek(0)
        header = None
        with suppress(DataError):
            header = header_in(opened, named=named.name) if is_csv(named) else None
    return WrittenFile(sha256=sha256, bytes=size, header=header)
