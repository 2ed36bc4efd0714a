"""The digits of a number before its point, in both faces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from aegis.data.kind import Kind, Values
from aegis.errors import MaskError

if TYPE_CHECKING:
    import ibis.expr.types as ir

MOST_DIGITS = 15


def size_of(values: Values) -> NDArray[np.int64]:
    """The number before the point, without its sign."""
    if len(values) and float(np.abs(values.astype(np.float64)).max()) >= 2**53:
        raise MaskError("the column holds numbers with more than 15 digits, which this mask does not take")
    return np.floor(np.abs(values)).astype(np.int64)


def size_expression(column: ir.Column, kind: Kind) -> ir.Column:
    """The same in an engine."""
    if kind is Kind.INTEGER:
        return column.cast("int64").abs()
    return column.cast("float64").abs().floor().cast("int64")
