"""The kinds of value a column can hold, as far as masking and counting care."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]


class Kind(StrEnum):
    """What the values of a column are. Masks say which kinds they accept."""

    INTEGER = "integer"
    REAL = "real"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"

    @property
    def dtype(self) -> np.dtype[Any]:
        """How numpy holds a domain of this kind.

        >>> Kind.INTEGER.dtype, Kind.DATE.dtype
        (dtype('int64'), dtype('<M8[D]'))
        """
        return np.dtype(_DTYPES[self])

    @property
    def is_number(self) -> bool:
        return self in (Kind.INTEGER, Kind.REAL)

    @property
    def is_ordered(self) -> bool:
        """Whether neighbours mean something: numbers, dates and times."""
        return self in (Kind.INTEGER, Kind.REAL, Kind.DATE, Kind.TIMESTAMP)


NUMBERS = frozenset({Kind.INTEGER, Kind.REAL})
DATES = frozenset({Kind.DATE, Kind.TIMESTAMP})
ALL_KINDS = frozenset(Kind)

_DTYPES = {
    Kind.INTEGER: "int64",
    Kind.REAL: "float64",
    Kind.TEXT: "object",
    Kind.BOOLEAN: "bool",
    Kind.DATE: "datetime64[D]",
    Kind.TIMESTAMP: "datetime64[us]",
}
