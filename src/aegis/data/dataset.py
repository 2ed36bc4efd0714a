"""A table as Aegis sees it: where its rows are, what its columns hold, and what part they play.

The columns of every source have one form (`aegis.data.tidied`).

Of a Parquet file some blocks of rows can be read without the rest. A sample that the engine draws after reading costs a
pass over every column; asked for rows by their number in the file, it skips the pages in between.

Rows at random, and small tables of our own beside an engine's, are what engines do each in their own way.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from aegis.data import spark
from aegis.data.embedded import EmbeddedRows, EmbeddedTable
from aegis.data.engine_words import quoted_text
from aegis.data.schema import Roles, Schema

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import ibis.expr.types as ir
    import pyarrow as pa

    Rows: TypeAlias = ir.Table | EmbeddedRows
    """Rows to be counted or drawn: an expression of any engine, or a text for the embedded one."""

_ROWS = 2048  # DuckDB reads this many rows at a time


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Blocks:
    """``some(one_in, seed)`` is about one in so many blocks of the rows of ``whole``, drawn by the seed."""

    whole: Rows
    some: Callable[[int, int], Rows]


def blocks_of(whole: Rows, raw: ir.Table | EmbeddedTable, path: Path, *, missing: Sequence[str]) -> Blocks | None:
    """The blocks of ``whole``, a Parquet file that reads ``raw``; None where a part could not be read alike."""

    def text(one_in: int, seed: int) -> str:
        return (
            "SELECT * EXCLUDE file_row_number "  # noqa: S608  quoted
            f"FROM read_parquet({quoted_text(str(path))}, file_row_number = true) "
            f"WHERE hash(file_row_number // {_ROWS}) % {one_in} = {seed % one_in}"
        )

    if isinstance(raw, EmbeddedTable):
        table = raw
        if "file_row_number" in table.types:
            return None
        return Blocks(whole=whole, some=lambda one_in, seed: table.tidied(missing, source=text(one_in, seed)))
    if "file_row_number" in raw.columns or any(kind.is_decimal() or kind.is_uint64() for kind in raw.schema().values()):
        return None  # how wide numbers are read depends on all of them
    from aegis.data.tidied import tidied

    backend = raw.get_backend()
    return Blocks(whole=whole, some=lambda one_in, seed: tidied(backend.sql(text(one_in, seed)), missing))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Dataset:
    """A table opened in an engine. Nothing is read until something is counted or released.

    ``rows`` are enough to count and to draw; whoever works with columns asks for the ``table``.
    ``orders`` are the values of text columns from the lowest on, where somebody declared an order.
    ``types_read`` are the columns whose types nobody stated, the file neither: they were read off the rows.
    """

    name: str
    rows: Rows
    schema: Schema
    roles: Roles
    blocks: Blocks | None = None
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    types_read: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"Dataset({self.name}: {len(self.schema.columns)} columns)"

    @property
    def table(self) -> ir.Table:
        """The rows as an expression."""
        return expression_of(self.rows)

    @property
    def backend(self) -> Any:
        """The Ibis connection that answers questions about it."""
        return self.table.get_backend()

    def with_roles(self, roles: Roles) -> Dataset:
        """The same table with other roles, all of them checked."""
        return replace(self, roles=roles.checked_against(self.schema))

    def with_table(self, table: ir.Table) -> Dataset:
        """Other rows of the same columns in its place."""
        return replace(self, rows=table, blocks=None)

    def some_blocks(self, *, one_in: int, seed: int) -> Rows:
        """About one in so many blocks of rows; the others are not read where the engine can skip them."""
        if self.blocks is not None and self.blocks.whole is self.rows:
            return self.blocks.some(one_in, seed)
        if isinstance(self.rows, EmbeddedRows):
            return self.rows.sampled(1 / one_in, seed=seed, by="system")
        if self.backend.name != "duckdb":  # single rows will do: other engines skip no blocks of a derived table
            return sampled(self.rows, 1 / one_in, seed=seed)
        return self.rows.sample(1 / one_in, method="block", seed=seed)


def expression_of(rows: Rows) -> ir.Table:
    """Rows as an expression, for whoever works with columns."""
    return rows.expression if isinstance(rows, EmbeddedRows) else rows


def sampled(rows: Rows, fraction: float, *, seed: int) -> Rows:
    """Each row with probability ``fraction``.

    PostgreSQL draws by the seed of its session, which is set now: the sample must be the next thing asked of it.
    Engines without a seed draw as they please.
    """
    if isinstance(rows, EmbeddedRows):
        return rows.sampled(fraction, seed=seed)
    backend = rows.get_backend()
    if backend.name == "duckdb":
        return rows.sample(fraction, method="row", seed=seed)
    import ibis

    if backend.name == "pyspark":
        # Spark's random numbers with a seed; Ibis knows only those without.
        rand: Any = ibis.udf.scalar.builtin(lambda seed: None, name="rand", signature=(("int64",), "float64"))
        return rows.filter(rand(seed) < fraction)
    if backend.name == "postgres":
        backend.raw_sql(f"SELECT setseed({seed % 1_000_003 / 1_000_003!r})").close()
    return rows.filter(ibis.random() < fraction)


def lookup_table(backend: Any, table: pa.Table) -> ir.Table:
    """``table`` as an expression that queries of ``backend`` may join."""
    if backend.name == "pyspark":
        return spark.placed(backend, table, f"aegis_lookup_{secrets.token_hex(6)}")
    import ibis

    return ibis.memtable(table)
