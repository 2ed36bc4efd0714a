"""A table expression to a table of a database: written under another name, and renamed in one transaction.

Spark has no transactions: what stood under the name is dropped and the new table renamed, one after the other.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import ibis
import ibis.expr.types as ir

from aegis.data.engine import connect
from aegis.data.sql_text import quoted_name
from aegis.errors import EngineError, OutputError


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


def _one_place(one: Any, other: Any) -> bool:
    """Whether two connections are to the same database, so that rows need not travel."""
    if one.name != other.name or one.name == "duckdb":  # two embedded databases share a name only
        return False
    if one.name == "pyspark":
        return one._session is other._session
    return bool(one._con_args == other._con_args and one._con_kwargs == other._con_kwargs)


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
        raise OutputError(f"the table could not be given its name {name!r} ({type(error).__name__})") from None
