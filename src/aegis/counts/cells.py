"""Cells of a column: how its values become small numbers by a rule that does not look at the data.

A rule has two faces that a test holds equal: an expression for an engine, and a function of values in numpy. The last
code of every rule is that of a missing value. Numbers, dates and times are seen as numbers: dates as days and times as
seconds since 1970.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from aegis.arrays import Codes, Floats
from aegis.data.kind import Kind, Values

if TYPE_CHECKING:
    import ibis.expr.types as ir


_DAY_SECONDS = 86_400
_DATES = datetime.date.min, datetime.date.max
"""What lies beyond counts as one of these: engines have no time for dates that are far enough away."""
_DAYS = tuple(end.toordinal() - datetime.date(1970, 1, 1).toordinal() for end in _DATES)


class Cells(Protocol):
    """A rule: ``size`` codes, missing the last of them."""

    @property
    def size(self) -> int: ...

    def expression(self, column: ir.Column, kind: Kind) -> Any:
        """The code of each value of a column, in the engine."""
        ...

    def codes(self, values: Values, kind: Kind) -> Codes:
        """The code of each of ``values``, none of them missing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Values by their place in a list; all others share the code after it."""

    values: tuple[Any, ...]

    @property
    def size(self) -> int:
        return len(self.values) + 2

    def expression(self, column: ir.Column, kind: Kind) -> Any:
        import ibis

        missing = column.isnull()
        if not self.values:
            return missing.ifelse(1, 0)
        if kind is Kind.BOOLEAN:  # not every engine casts a truth value to a number
            column = column.ifelse(1, 0)
        listed = [int(value) for value in self.values] if kind is Kind.BOOLEAN else list(self.values)
        column = column if kind is Kind.TEXT else column.cast("int64")
        place = ibis.literal(listed, type=f"array<{column.type()}>").index(column)
        code = (place < 0).ifelse(len(self.values), place)
        return missing.ifelse(self.size - 1, code).cast("int64")

    def codes(self, values: Values, kind: Kind) -> Codes:
        place = {value: code for code, value in enumerate(self.values)}
        return np.array([place.get(value, len(self.values)) for value in values.tolist()], dtype=np.int64)


LEAST_POWER, MOST_POWER = -30, 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Magnitudes:
    """Numbers by sign and power of two, in their order; zero, and what is smaller than any power here, has its own.

    >>> Magnitudes().codes(np.array([-3.0, 0.0, 1.0, 1.9, 2.0]), Kind.REAL).tolist()
    [61, 93, 124, 124, 125]
    """

    @property
    def size(self) -> int:
        return 2 * (MOST_POWER - LEAST_POWER + 1) + 2

    def expression(self, column: ir.Column, kind: Kind) -> Any:
        import ibis

        number = number_of(column, kind)
        size = number.abs()
        small = size < 2.0**LEAST_POWER
        power = small.ifelse(1.0, size).log2().floor().clip(lower=LEAST_POWER, upper=MOST_POWER)
        rank = small.ifelse(0, power - LEAST_POWER + 1)
        middle = MOST_POWER - LEAST_POWER + 1
        code = (number < 0).ifelse(middle - rank, middle + rank)
        return number.isnull().ifelse(ibis.literal(self.size - 1), code).cast("int64")

    def codes(self, values: Values, kind: Kind) -> Codes:
        number = numbers_of(values, kind)
        size = np.abs(number)
        small = size < 2.0**LEAST_POWER
        power = np.clip(np.floor(np.log2(np.where(small, 1.0, size))), LEAST_POWER, MOST_POWER)
        rank = np.where(small, 0, power - LEAST_POWER + 1)
        middle = MOST_POWER - LEAST_POWER + 1
        return np.asarray(np.where(number < 0, middle - rank, middle + rank), dtype=np.int64)

    def bounds(self, first: int, last: int) -> tuple[float, float]:
        """The least number of the cell ``first`` and the number that those of ``last`` stay below.

        >>> Magnitudes().bounds(93, 125)
        (0.0, 4.0)
        """
        middle = MOST_POWER - LEAST_POWER + 1

        def edge(code: int, upper: bool) -> float:
            if code == middle:
                return 2.0**LEAST_POWER if upper else 0.0
            power = abs(code - middle) - 1 + LEAST_POWER
            if code > middle:
                return 2.0 ** (power + upper)
            return -(2.0 ** (power + (not upper)))

        return edge(first, False), edge(last, True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Numbers from ``low`` up in ``cells`` of one width; what lies outside is in the first or the last.

    Zero has a cell of its own after all others, because it is so often no number like the others.

    >>> Grid(low=-10, width=5, cells=4).codes(np.array([-99.0, -1.0, 0.0, 3.0, 99.0]), Kind.REAL).tolist()
    [0, 1, 4, 2, 3]
    """

    low: float
    width: float
    cells: int

    def __post_init__(self) -> None:
        if not self.width > 0 or self.cells < 1:
            raise ValueError("a grid has a width above 0 and a cell or more")

    @property
    def size(self) -> int:
        return self.cells + 2

    def expression(self, column: ir.Column, kind: Kind) -> Any:
        import ibis

        number = number_of(column, kind)
        # Cut off before it is rounded: an engine may have no whole number for a huge one.
        place = ((number - self.low) / self.width).clip(lower=0, upper=self.cells - 1).floor()
        code = (number == 0).ifelse(self.cells, place)
        return number.isnull().ifelse(ibis.literal(self.size - 1), code).cast("int64")

    def codes(self, values: Values, kind: Kind) -> Codes:
        number = numbers_of(values, kind)
        with np.errstate(over="ignore"):
            place = np.floor(np.clip((number - self.low) / self.width, 0, self.cells - 1))
        return np.asarray(np.where(number == 0, self.cells, place), dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Numbers by the last of ``starts`` that they reach; what lies below the first is in the first."""

    starts: tuple[float, ...]

    @property
    def size(self) -> int:
        return len(self.starts) + 1

    def expression(self, column: ir.Column, kind: Kind) -> Any:
        import ibis

        from aegis.counts.binned import stepped

        number = number_of(column, kind)
        code = stepped(number, list(self.starts), range(len(self.starts)))
        return number.isnull().ifelse(ibis.literal(self.size - 1), code).cast("int64")

    def codes(self, values: Values, kind: Kind) -> Codes:
        steps = np.searchsorted(np.asarray(self.starts), numbers_of(values, kind), side="right") - 1
        return np.asarray(np.maximum(steps, 0), dtype=np.int64)


MOST_DECIMALS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Decimals:
    """Numbers by how many decimals they are written with; more than `MOST_DECIMALS` share a code.

    >>> Decimals().codes(np.array([3.0, 2.5, 0.125]), Kind.REAL).tolist()
    [0, 1, 3]
    """

    @property
    def size(self) -> int:
        return MOST_DECIMALS + 3

    def expression(self, column: ir.Column, kind: Kind) -> Any:
        import ibis

        number = number_of(column, kind)
        code: Any = ibis.literal(MOST_DECIMALS + 1)
        for decimals in range(MOST_DECIMALS, -1, -1):
            scaled = (number * 10.0**decimals).clip(lower=-_WHOLE, upper=_WHOLE)
            near = (scaled - (scaled + 0.5).floor()).abs() <= _SLACK * (scaled.abs() + 1.0)
            code = near.ifelse(decimals, code)
        return number.isnull().ifelse(ibis.literal(self.size - 1), code).cast("int64")

    def codes(self, values: Values, kind: Kind) -> Codes:
        number = numbers_of(values, kind)
        code = np.full(len(number), MOST_DECIMALS + 1, dtype=np.int64)
        for decimals in range(MOST_DECIMALS, -1, -1):
            with np.errstate(over="ignore"):
                scaled = np.clip(number * 10.0**decimals, -_WHOLE, _WHOLE)
            near = np.abs(scaled - np.floor(scaled + 0.5)) <= _SLACK * (np.abs(scaled) + 1.0)
            code[near] = decimals
        return code


_SLACK = 1e-12  # a decimal fraction is seldom exact in binary
_WHOLE = 2.0**52  # from here on every number is whole


def number_of(column: ir.Column, kind: Kind) -> Any:
    """A column of an ordered kind as numbers, in the engine."""
    if kind is Kind.DATE:
        import ibis

        first, last = _DATES
        column = (column < first).ifelse(ibis.literal(first), (column > last).ifelse(ibis.literal(last), column))
        return (column.cast("timestamp").epoch_seconds() / _DAY_SECONDS).floor().cast("float64")
    if kind is Kind.TIMESTAMP:
        return column.epoch_seconds().cast("float64")
    return column.cast("float64")


def numbers_of(values: Values, kind: Kind) -> Floats:
    """Values of an ordered kind as numbers.

    >>> numbers_of(np.array(["1970-01-11"], dtype="datetime64[D]"), Kind.DATE).tolist()
    [10.0]
    """
    if kind is Kind.DATE:
        days = values.astype("datetime64[D]").astype(np.int64).astype(np.float64)
        return np.asarray(np.clip(days, _DAYS[0], _DAYS[1]))
    if kind is Kind.TIMESTAMP:
        return np.floor(values.astype("datetime64[us]").astype(np.int64) / 1e6)
    return values.astype(np.float64)


def number_from(value: Any, kind: Kind) -> float:
    """One value of an ordered kind, as somebody wrote it, as a number; `ValueError` where it is none.

    >>> number_from("2020-01-01", Kind.DATE), number_from(3, Kind.INTEGER)
    (18262.0, 3.0)
    """
    if kind in (Kind.DATE, Kind.TIMESTAMP):
        if isinstance(value, str):
            value = datetime.datetime.fromisoformat(value)
        if not isinstance(value, datetime.date):
            raise ValueError("not a date")
        return float(numbers_of(np.array([value], dtype=kind.dtype), kind)[0])
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("not a number")  # noqa: TRY004  another value than was asked for, not a mistake in code
    return float(value)
