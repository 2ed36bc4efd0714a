"""A table expression to a table of a database: written under another name, and renamed in one transaction."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import ibis
import ibis.expr.types as ir

from aegis.data.engine import connect
from aegis.errors import EngineError, OutputError

_MODULUS = 1 << 256


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

    Gives the connection and the table as written. ``source`` is what ``table`` was read from: the same database does
    the writing itself, to another one the rows are sent.
    """
    same = isinstance(source, str) and source.partition("#")[0] == address.database
    connection = table.get_backend() if same else connect(address.database)
    if address.table in connection.list_tables() and not overwrite:
        raise OutputError(f"there is a table {address.table!r} already; choose another name or add --overwrite")
    draft = f"aegis_draft_{secrets.token_hex(6)}"
    shuffled = table.order_by(ibis.random()) if shuffle else table
    try:
        try:
            connection.create_table(draft, shuffled if same else shuffled.to_pyarrow())
            written = connection.table(draft)
        except Exception as error:  # an engine's message may quote data
            raise EngineError(f"the database could not write the table ({type(error).__name__})") from None
        yield connection, written
        _rename(connection, draft, address.table, overwrite=overwrite)
    finally:
        with suppress(Exception):  # it has its real name by now, or the connection is gone
            if draft in connection.list_tables():
                connection.drop_table(draft)


def _rename(connection: Any, draft: str, name: str, *, overwrite: bool) -> None:
    old, new = _quoted(name), _quoted(draft)
    drop = f"DROP TABLE IF EXISTS {old}; " if overwrite else ""
    try:
        connection.raw_sql(f"BEGIN; {drop}ALTER TABLE {new} RENAME TO {old}; COMMIT")
    except Exception as error:
        with suppress(Exception):
            connection.raw_sql("ROLLBACK")
        raise OutputError(f"the table could not be given its name {name!r} ({type(error).__name__})") from None


def sha256_of_table(table: ir.Table) -> str:
    """A hash of the rows that does not depend on their order: the sum of a hash of each, as texts."""
    texts = table.select(**{name: table[name].cast("string") for name in table.columns})
    total = 0
    for batch in texts.to_pyarrow_batches(chunk_size=50_000):
        columns = [column.to_pylist() for column in batch.columns]
        for row in zip(*columns, strict=True):
            total += int.from_bytes(hashlib.sha256(repr(row).encode()).digest(), "big")
    head = repr(tuple(table.columns)).encode()
    return hashlib.sha256(head + (total % _MODULUS).to_bytes(32, "big")).hexdigest()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
