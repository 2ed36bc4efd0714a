"""A table expression to a file, whole or not at all; the engine does the writing."""

from __future__ import annotations

import hashlib
from pathlib import Path

import ibis
import ibis.expr.types as ir

from aegis.errors import EngineError, OutputError

FORMATS = (".csv", ".parquet")


def check_format(path: Path) -> None:
    """Raise unless the file's name says how to write it."""
    if path.suffix.lower() not in FORMATS:
        raise OutputError(f"{path.name} has no known format; end its name in .csv or .parquet")


def write_table(table: ir.Table, draft: Path, *, like: Path, shuffle: bool) -> None:
    """Write ``table`` to ``draft`` in the format of ``like``, in random row order if ``shuffle``."""
    if shuffle:
        table = table.order_by(ibis.random())
    try:
        if like.suffix.lower() == ".csv":
            table.to_csv(draft)
        else:
            table.to_parquet(draft)
    except OSError as error:
        raise OutputError(f"{like} cannot be written: {error.strerror or type(error).__name__}") from None
    except Exception as error:  # an engine's message may quote data
        raise EngineError(f"the engine could not write {like.name} ({type(error).__name__})") from None


def sha256_of(path: Path) -> str:
    """The hash of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
