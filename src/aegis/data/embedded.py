"""Embedded DuckDB, asked in SQL of our own as long as rows are only counted and drawn.

Ibis says the same thing to every engine, but loading it takes longer than counting most files. Whoever works with
columns (masks, formats, joins) has the `expression` of some rows, and Ibis is loaded for that. Both are one table in
one form: the columns of a file have few types, and those that need more thought are left to Ibis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from aegis.data.engine_words import quoted_name, quoted_text
from aegis.data.kind import Kind
from aegis.loading import undisturbed

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

_NOT_FINITE = "CASE WHEN isnan({0}) OR isinf({0}) THEN NULL ELSE {0} END"
_FORMS = {
    "BOOLEAN": (Kind.BOOLEAN, "{0}"),
    "BIGINT": (Kind.INTEGER, "{0}"),
    **dict.fromkeys(
        ("TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER"), (Kind.INTEGER, "CAST({0} AS BIGINT)")
    ),
    "DOUBLE": (Kind.REAL, _NOT_FINITE),
    "FLOAT": (Kind.REAL, f"CAST({_NOT_FINITE} AS DOUBLE)"),
    "VARCHAR": (Kind.TEXT, "{0}"),
    "DATE": (Kind.DATE, "{0}"),
    "TIMESTAMP": (Kind.TIMESTAMP, "{0}"),
}
"""What a column of a type holds, and how it is put into the form that all sources have (`aegis.data.tidied`)."""


class Embedded:
    """A connection to an embedded DuckDB, and the same one as Ibis knows it."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.con: Any = duckdb.connect(config=dict(settings))
        # A progress bar would go to stdout, where the data goes. Every column is read about once and the system keeps
        # files as well: a cache of them only fills the memory that is allowed. A name is never that of a Python object.
        for setting in (
            "enable_progress_bar = false",
            "enable_external_file_cache = false",
            "python_enable_replacements = false",
            "TimeZone = 'UTC'",
        ):
            self.con.execute(f"SET {setting}")

    @cached_property
    def backend(self) -> Any:
        """The connection of Ibis."""
        with undisturbed():
            import ibis  # late: most of what is asked of files does without
            import ibis.backends.duckdb

        return ibis.duckdb.from_connection(self.con)

    def raw_sql(self, question: str) -> Any:
        """What the engine says to a question, as the connection of Ibis gives it."""
        return self.con.execute(question)

    def table(self, name: str) -> EmbeddedTable | ir.Table:
        """A table or view by its name; as an expression where a column has a type that needs more thought."""
        described = self.con.execute(f"DESCRIBE {quoted_name(name)}").fetchall()
        types = {column: str(kind) for column, kind, *_ in described}
        if set(types.values()) <= set(_FORMS):
            return EmbeddedTable(connection=self, name=name, types=types)
        table: ir.Table = self.backend.table(name)
        return table

    def read_parquet(self, paths: str | Sequence[str]) -> EmbeddedTable | ir.Table:
        """Parquet files of the same columns as one table."""
        files = [str(Path(path).absolute()) for path in ([paths] if isinstance(paths, str) else paths)]
        listed = ", ".join(quoted_text(file) for file in files)
        self.con.execute(f"CREATE TEMP VIEW aegis_parquet AS SELECT * FROM read_parquet([{listed}])")  # noqa: S608
        return self.table("aegis_parquet")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EmbeddedRows:
    """Rows in the form that all sources have: a SELECT, and an expression of the same, ``made`` when it is wanted."""

    connection: Embedded
    text: str
    made: Callable[[], ir.Table]

    def __repr__(self) -> str:
        return "EmbeddedRows()"

    @cached_property
    def expression(self) -> ir.Table:
        return self.made()

    def answer(self) -> pa.Table:
        table: pa.Table = self.connection.raw_sql(self.text).to_arrow_table()
        return table

    def select(self, *names: str) -> EmbeddedRows:
        listed = ", ".join(quoted_name(name) for name in names)
        return self._asked(f"SELECT {listed} FROM ({self.text})")  # noqa: S608  names are quoted

    def sampled(self, fraction: float, *, seed: int, by: str = "bernoulli") -> EmbeddedRows:
        """Each row, or each of the engine's blocks of them (``system``), with probability ``fraction``."""
        share = f"{by} ({fraction * 100!r} PERCENT) REPEATABLE ({seed})"
        return self._asked(f"SELECT * FROM ({self.text}) TABLESAMPLE {share}")  # noqa: S608  numbers

    def _asked(self, text: str) -> EmbeddedRows:
        return EmbeddedRows(connection=self.connection, text=text, made=lambda: self.connection.backend.sql(text))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EmbeddedTable:
    """A table as it was read, with the type of each column."""

    connection: Embedded
    name: str
    types: Mapping[str, str]

    def __repr__(self) -> str:
        return f"EmbeddedTable({len(self.types)} columns)"

    @cached_property
    def expression(self) -> ir.Table:
        table: ir.Table = self.connection.backend.table(self.name)
        return table

    @property
    def kinds(self) -> dict[str, Kind]:
        """What each column holds."""
        return {name: _FORMS[kind][0] for name, kind in self.types.items()}

    def tidied(self, missing: Sequence[str], *, source: str | None = None) -> EmbeddedRows:
        """One form for every kind of value, with missing values as nulls; of another ``source`` of the same columns."""

        def made() -> ir.Table:
            from aegis.data.tidied import tidied  # loads Ibis

            return tidied(self.expression if source is None else self.connection.backend.sql(source), missing)

        text = self._tidying(missing, source=quoted_name(self.name) if source is None else f"({source})")
        return EmbeddedRows(connection=self.connection, text=text, made=made)

    def _tidying(self, missing: Sequence[str], *, source: str) -> str:
        listed = ", ".join(quoted_text(text) for text in missing)
        columns = []
        for name, kind in self.types.items():
            column = quoted_name(name)
            form = _FORMS[kind][1].format(column)
            if missing and kind == "VARCHAR":
                form = f"CASE WHEN {column} IN ({listed}) THEN NULL ELSE {column} END"
            columns.append(f"{form} AS {column}")
        return f"SELECT {', '.join(columns)} FROM {source}"  # noqa: S608  names are quoted
