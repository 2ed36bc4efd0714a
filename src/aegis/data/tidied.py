"""The one form that the columns of every source have, as an expression.

Numbers that are not finite are missing, whole and decimal numbers have one kind each, and types that masking knows
nothing about are read as text. Whole numbers of more than 64 bits are text too, where a column holds any: a number that
lost its last digits would make two keys one.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import ibis
import ibis.expr.datatypes as dt

from aegis.data import spark
from aegis.data.engine_words import in_our_words
from aegis.data.kind import Kind
from aegis.errors import EngineError

if TYPE_CHECKING:
    import ibis.expr.types as ir


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
