"""A table expression to a file; the engine does the writing."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir

from aegis.data import spark
from aegis.errors import EngineError, OutputError

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


def sha256_of(path: Path) -> str:
    """The hash of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
