"""A table as Aegis sees it: an engine's expression, what its columns hold, and what part they play.

The columns of every source have one form. Numbers that are not finite are missing, whole and decimal numbers have one
kind each, and types that masking knows nothing about are read as text. Whole numbers of more than 64 bits are text too,
where a column holds any: a number that lost its last digits would make two keys one.

Of a Parquet file some blocks of rows can be read without the rest. A sample that the engine draws after reading costs a
pass over every column; asked for rows by their number in the file, it skips the pages in between.

Rows at random, and small tables of our own beside an engine's, are what engines do each in their own way.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import ibis
import ibis.expr.datatypes as dt

from aegis.data import spark
from aegis.data.engine_words import in_our_words, quoted_text
from aegis.data.kind import Kind
from aegis.data.schema import Roles, Schema
from aegis.errors import EngineError

if TYPE_CHECKING:
    from pathlib import Path

    import ibis.expr.types as ir
    import pyarrow as pa


_ROWS = 2048  # DuckDB reads this many rows at a time


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Blocks:
    """``some(one_in, seed)`` is about one in so many blocks of the rows of ``whole``, drawn by the seed."""

    whole: ir.Table
    some: Callable[[int, int], ir.Table]


def blocks_of(whole: ir.Table, raw: ir.Table, path: Path, *, missing: tuple[str, ...]) -> Blocks | None:
    """The blocks of ``whole``, a Parquet file that reads ``raw``; None where a part could not be read alike."""
    if "file_row_number" in raw.columns or any(kind.is_decimal() or kind.is_uint64() for kind in raw.schema().values()):
        return None  # how wide numbers are read depends on all of them
    file = quoted_text(str(path))

    def some(one_in: int, seed: int) -> ir.Table:
        text = (
            f"SELECT * EXCLUDE file_row_number FROM read_parquet({file}, file_row_number = true) "  # noqa: S608
            f"WHERE hash(file_row_number // {_ROWS}) % {one_in} = {seed % one_in}"
        )
        return tidied(whole.get_backend().sql(text), missing)

    return Blocks(whole=whole, some=some)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Dataset:
    """A table opened in an engine. Nothing is read until something is counted or released.

    ``orders`` are the values of text columns from the lowest on, where somebody declared an order.
    """

    name: str
    table: ir.Table
    schema: Schema
    roles: Roles
    blocks: Blocks | None = None
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Dataset({self.name}: {len(self.schema.columns)} columns)"

    @property
    def backend(self) -> Any:
        """The Ibis connection that answers questions about it."""
        return self.table.get_backend()

    def with_roles(self, roles: Roles) -> Dataset:
        """The same table with other roles, all of them checked."""
        return replace(self, roles=roles.checked_against(self.schema))

    def some_blocks(self, *, one_in: int, seed: int) -> ir.Table:
        """About one in so many blocks of rows; the others are not read where the engine can skip them."""
        if self.blocks is not None and self.blocks.whole is self.table:
            return self.blocks.some(one_in, seed)
        if self.backend.name != "duckdb":  # single rows will do: other engines skip no blocks of a derived table
            return sampled(self.table, 1 / one_in, seed=seed)
        return self.table.sample(1 / one_in, method="block", seed=seed)


def tidied(table: ir.Table, missing: Sequence[str]) -> ir.Table:
    """One form for every kind of value, with missing values as nulls."""
    changed: dict[str, Any] = {}
    too_wide = _too_wide(table)
    in_sqlite = table.get_backend().name == "sqlite"
    for name, kind in table.schema().items():
        column = table[name]
        if kind.is_floating():
            if in_sqlite:  # it cannot be asked for infinities: less themselves they are not 0 but nothing
                column = (column - column == 0).ifelse(column, ibis.null())
            else:
                column = (column.isnan() | column.isinf()).ifelse(ibis.null(), column)
            changed[name] = column.cast("float64")
        elif name in too_wide:
            changed[name] = column.cast("string")
        elif kind.is_decimal():
            changed[name] = column.cast("int64" if kind.scale == 0 else "float64")
        elif kind.is_integer() and not isinstance(kind, dt.Int64):
            changed[name] = column.cast("int64")
        elif kind.is_timestamp() and kind.timezone is not None:
            changed[name] = column.cast("timestamp")
        elif kind.is_string():
            if missing:
                changed[name] = column.isin(list(missing)).ifelse(ibis.null("string"), column)
        elif not (kind.is_integer() or kind.is_boolean() or kind.is_date() or kind.is_timestamp()):
            changed[name] = column.cast("string")
    return table.mutate(**changed) if changed else table


def _too_wide(table: ir.Table) -> set[str]:
    """The columns of whole numbers of which some do not fit into 64 bits; asked only where the type allows it."""
    names = [
        name
        for name, kind in table.schema().items()
        if isinstance(kind, dt.UInt64) or (kind.is_decimal() and kind.scale == 0 and (kind.precision or 99) > 18)
    ]
    if not names:
        return set()
    bounds = {f"low_{i}": table[name].min().cast("string") for i, name in enumerate(names)}
    bounds |= {f"high_{i}": table[name].max().cast("string") for i, name in enumerate(names)}
    try:
        query = table.aggregate(**bounds)
        spoken = spark.fetched(query) if table.get_backend().name == "pyspark" else query.to_pyarrow()
        (answer,) = spoken.to_pylist()
    except Exception as error:  # an engine's message may quote data
        ours = EngineError(f"the engine could not say how large the numbers are ({type(error).__name__})")
        raise in_our_words(error, ours) from None
    return {
        name
        for i, name in enumerate(names)
        if int(Decimal(answer[f"low_{i}"] or 0)) < -(2**63) or int(Decimal(answer[f"high_{i}"] or 0)) >= 2**63
    }


def kind_of(kind: dt.DataType) -> Kind:
    """What a column of a tidy table holds."""
    if kind.is_boolean():
        return Kind.BOOLEAN
    if kind.is_integer():
        return Kind.INTEGER
    if kind.is_floating():
        return Kind.REAL
    if kind.is_date():
        return Kind.DATE
    if kind.is_timestamp():
        return Kind.TIMESTAMP
    return Kind.TEXT


# Spark's random numbers with a seed; Ibis knows only those without.
_rand: Any = ibis.udf.scalar.builtin(lambda seed: None, name="rand", signature=(("int64",), "float64"))


def sampled(table: ir.Table, fraction: float, *, seed: int) -> ir.Table:
    """Each row with probability ``fraction``.

    PostgreSQL draws by the seed of its session, which is set now: the sample must be the next thing asked of it.
    Engines without a seed draw as they please.
    """
    backend = table.get_backend()
    if backend.name == "duckdb":
        return table.sample(fraction, method="row", seed=seed)
    if backend.name == "pyspark":
        return table.filter(_rand(seed) < fraction)
    if backend.name == "postgres":
        backend.raw_sql(f"SELECT setseed({seed % 1_000_003 / 1_000_003!r})").close()
    return table.filter(ibis.random() < fraction)


def lookup_table(backend: Any, table: pa.Table) -> ir.Table:
    """``table`` as an expression that queries of ``backend`` may join."""
    if backend.name == "pyspark":
        return spark.placed(backend, table, f"aegis_lookup_{secrets.token_hex(6)}")
    return ibis.memtable(table)
