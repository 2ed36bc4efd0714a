"""Missing values where a method needs a value in every cell: stated, never in silence.

A missing text is a category of its own. A missing number stands at the median of its column: the value that is wrong by
least on average, and the same for everybody, so that it tells nobody apart. An infinite number is missing as well, as
everywhere where a table is read, and that is said. Whoever asked is told which columns were filled, and the table
itself keeps its gaps wherever a column is published as it is.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from aegis.data.kind import Kind

MISSING = "(missing)"
"""How a missing text is called where it is a category."""

AT_MEDIAN = "stand at the median of the others (an infinite number counts as missing)"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledColumn:
    """A column with how many of its values were missing, and what stands for them."""

    name: str
    values: int
    by: str

    def sentence(self) -> str:
        """What was done, in words."""
        return f"{self.name}: {self.values:,} missing values {self.by}"


def column_values(column: pa.ChunkedArray, kind: Kind) -> NDArray[Any]:
    """Numbers as numbers, days and times as numbers of days, everything else as text; missing stays missing."""
    if kind.is_number:
        return np.asarray(column.cast(pa.float64()).to_numpy() if column.null_count else column.to_numpy())
    if kind in (Kind.DATE, Kind.TIMESTAMP):
        days = column.to_numpy().astype("datetime64[us]")
        return np.where(np.isnat(days), math.nan, days.astype(np.int64) / 86_400e6)
    values = np.empty(len(column), dtype=object)
    values[:] = column.cast(pa.string()).to_pylist()
    return values


def filled_table(table: pa.Table, names: Collection[str]) -> tuple[pa.Table, tuple[FilledColumn, ...]]:
    """The table with the median in place of missing numbers and dates of these columns; other kinds can be missing."""
    filled = []
    for name in names:
        column = table[name]
        kind = column.type
        whole = pa.types.is_integer(kind) or pa.types.is_temporal(kind)
        number = whole or pa.types.is_floating(kind)
        if not number or not column.null_count or column.null_count == len(column):
            continue
        present = column.drop_null()
        if pa.types.is_date32(kind):
            present = present.cast(pa.int32())
        elif pa.types.is_timestamp(kind):
            present = present.cast(pa.int64())
        middle = float(np.median(present.cast(pa.float64()).to_numpy()))
        value = round(middle) if whole else middle
        filled.append(FilledColumn(name=name, values=column.null_count, by=AT_MEDIAN))
        full = pc.fill_null(column, pa.scalar(value, kind))
        table = table.set_column(table.column_names.index(name), name, full)
    return table, tuple(filled)


def filled_columns(
    columns: Mapping[str, NDArray[Any]],
) -> tuple[dict[str, NDArray[Any]], tuple[FilledColumn, ...]]:
    """The same of columns as numbers and texts, where missing texts become a category; empty ones stay as they are."""
    full_columns, filled = dict(columns), []
    for name, values in columns.items():
        if values.dtype.kind == "f":
            absent = ~np.isfinite(values)
            by = AT_MEDIAN
        elif values.dtype.kind == "O":
            absent = np.fromiter((value is None for value in values), dtype=bool, count=len(values))
            by = "are a category of their own"
        else:
            continue
        if not absent.any() or absent.all():
            continue
        full = values.copy()
        full[absent] = np.median(values[~absent]) if values.dtype.kind == "f" else MISSING
        full_columns[name] = full
        filled.append(FilledColumn(name=name, values=int(absent.sum()), by=by))
    return full_columns, tuple(filled)
