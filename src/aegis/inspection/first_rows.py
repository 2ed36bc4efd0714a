"""The first rows of a table as codes, for what needs rows side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from aegis.arrays import Codes, Floats
from aegis.data.kind import DATES, Kind
from aegis.data.schema import Schema
from aegis.inspection.value_parts import Parts, of_times, parts_of

LOOKED_AT = 10_000
"""Shapes, formats and dependencies are read off so many rows."""
_BINS, _ROWS_A_BIN = 64, 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FirstRows:
    """The first rows of a table, every column as small codes; numbers and dates in ranges of equally many rows.

    ``exact`` has a code for each value of the columns that were put into ranges, in the order of the values.
    ``parts`` has a code for each part that anybody reads off a value, by column and part. ``numbers`` are what
    differences are made of: of a date its day, its year, and itself written like 20240229. A missing value has the
    code 0 and is no number.
    """

    rows: int
    codes: Mapping[str, Codes]
    exact: Mapping[str, Codes] = field(default_factory=dict)
    parts: Mapping[str, Parts] = field(default_factory=dict)
    numbers: Mapping[str, Mapping[str, Floats]] = field(default_factory=dict)

    def values(self, column: str) -> Codes:
        """A code for each value of a column."""
        return self.exact.get(column, self.codes[column])


def first_rows(table: pa.Table, schema: Schema) -> FirstRows:
    """The rows of ``table``, which are the first of one with this schema, as codes."""
    codes = {column.name: _codes(table[column.name], column.kind) for column in schema}
    codes = {name: column_codes for name, column_codes in codes.items() if column_codes.max(initial=0) > 0}
    exact, parts, numbers = {}, {}, {}
    for column in schema:
        name, kind = column.name, column.kind
        if name not in codes:
            continue
        packed = table[name].combine_chunks().dictionary_encode()
        indices = _indices(packed)
        if kind.is_ordered:
            in_order = _in_order(packed.dictionary, indices)
            if in_order.max() > codes[name].max():
                exact[name] = in_order
            numbers[name] = {
                measure: _spread(values, indices) for measure, values in _measures(packed.dictionary, kind).items()
            }
        parts[name] = {
            part: np.append(np.unique(values, return_inverse=True)[1] + 1, 0)[indices].astype(np.int64)
            for part, values in parts_of(packed.dictionary, kind).items()
        }
    return FirstRows(rows=len(table), codes=codes, exact=exact, parts=parts, numbers=numbers)


def as_numbers(values: pa.Array) -> Floats:
    """Numbers and dates as numbers in their order."""
    if pa.types.is_temporal(values.type):
        values = values.cast(pa.timestamp("us")).cast(pa.int64())
    # Whole numbers beyond 2^53 lose their last digits: what is made of them are ranges.
    numbers: NDArray[np.float64] = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return numbers


def _indices(packed: pa.DictionaryArray) -> Codes:
    """The place of each row's value in the dictionary; -1 where it is missing."""
    indices: Codes = pc.fill_null(packed.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return indices


def _codes(column: pa.ChunkedArray, kind: Kind) -> Codes:
    """Small codes; 0 is a missing value where there is one. Ordered values are put into ranges if they are many."""
    packed = column.combine_chunks().dictionary_encode()
    indices = _indices(packed)
    bins = min(_BINS, max(len(indices) // _ROWS_A_BIN, 2))
    if kind.is_ordered and len(packed.dictionary) > bins:
        ranks = np.argsort(np.argsort(as_numbers(packed.dictionary)))
        order = np.where(indices >= 0, ranks[indices], -1)
        present = np.sort(order[order >= 0])
        edges = np.unique(present[np.linspace(0, len(present) - 1, bins + 1).astype(int)[1:-1]])
        binned = np.searchsorted(edges, order, side="right") + 1
        return np.where(order >= 0, binned, 0)
    return indices + 1


def _in_order(values: pa.Array, indices: Codes) -> Codes:
    """A code for every value of numbers or dates, a smaller one for a smaller value; 0 is a missing one."""
    ranks = np.argsort(np.argsort(as_numbers(values), kind="stable"), kind="stable") + 1
    return np.where(indices >= 0, ranks[indices], 0).astype(np.int64)


def _measures(values: pa.Array, kind: Kind) -> dict[str, Floats]:
    numbers = as_numbers(values)
    if kind not in DATES:
        return {"": numbers}
    parts = of_times(numbers.astype("datetime64[us]"))
    written = 10_000 * parts["year"] + 100 * parts["month"] + parts["day of month"]
    return {"": numbers / 86_400e6, "year": parts["year"].astype(np.float64), "date": written.astype(np.float64)}


def _spread(values: Floats, indices: Codes) -> Floats:
    return np.append(values, np.nan)[indices]
