"""Combinations that are declared impossible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.candidates.synthesis.declared import Condition
from aegis.counts.answer import to_numpy
from aegis.counts.cells import numbers_of
from aegis.data.kind import Kind


def possible(table: pa.Table, impossible: Sequence[Sequence[Condition]]) -> NDArray[np.bool_]:
    """Which rows match none of the combinations; one that names a column that is not there matches nothing."""
    allowed = np.ones(len(table), dtype=bool)
    for rule in impossible:
        if any(condition.column not in table.column_names for condition in rule):
            continue
        matched = np.ones(len(table), dtype=bool)
        for condition in rule:
            matched &= _matches(table[condition.column], condition)
        allowed &= ~matched
    return allowed


def _matches(column: pa.ChunkedArray, condition: Condition) -> NDArray[np.bool_]:
    kind = _kind(column.type)
    present, values = to_numpy(column, kind)
    if kind.is_ordered:
        numbers = numbers_of(values, kind)
        met = (
            np.isin(numbers, np.array(condition.values, dtype=np.float64))
            if condition.values
            else np.ones(len(numbers), dtype=bool)
        )
        if condition.low is not None:
            met &= numbers >= condition.low
        if condition.high is not None:
            met &= numbers < condition.high
    else:
        listed = set(condition.values)
        met = np.array([value in listed for value in values.tolist()], dtype=bool)
    matched = np.zeros(len(column), dtype=bool)
    matched[present] = met
    return matched


def _kind(declared: pa.DataType) -> Kind:
    if pa.types.is_boolean(declared):
        return Kind.BOOLEAN
    if pa.types.is_integer(declared):
        return Kind.INTEGER
    if pa.types.is_floating(declared):
        return Kind.REAL
    if pa.types.is_date(declared):
        return Kind.DATE
    if pa.types.is_timestamp(declared):
        return Kind.TIMESTAMP
    return Kind.TEXT
