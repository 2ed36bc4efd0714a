"""Where numbers, dates and times are cut: on a regular grid, at an edge between two values, or at a rounded end.

A grid is computed the same way by numpy and by an engine. Ends like 0.3 have no exact double, so a grid holds its width
and origin as scaled integers and compares a value with the double nearest to the decimal end. Thus 0.3 lies in
[0.3, 0.4) as people expect, in both faces.

Edges are published: in the masked table, in its certificate, in the configuration. One that stands on a value says that
somebody has it, a birthday or a salary that is his alone. So an edge lies between two values where there is room, and
ends are rounded outward: buckets between the smallest and the largest number would give away who earns most. Where
buckets are open beyond their ends a few records lie beyond each.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aegis.data.kind import Kind, Values
from aegis.errors import MaskError
from aegis.masking.parameter import fifteen_digits

if TYPE_CHECKING:
    import ibis.expr.types as ir


FEW = 5
"""So many records lie at or beyond an end that is open; one in twenty where there are fewer than a hundred."""
_LIMIT = 2**53  # whole numbers beyond it are not exact as doubles
_MOST_DECIMALS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The cells ``[origin + i·width, origin + (i+1)·width)``, all ends multiples of ``1/scale``.

    >>> grid = Grid.of(width=2.5)
    >>> low = grid.low(np.array([7.0, -1.0]), Kind.REAL)
    >>> low.tolist(), grid.text(low), (low / grid.scale).tolist()
    ([50, -25], ['5.0', '-2.5'], [5.0, -2.5])
    """

    width: int
    origin: int
    decimals: int

    @classmethod
    def of(cls, *, width: float, origin: float = 0, half_steps: bool = False) -> Grid:
        """The grid with these decimals; ``half_steps`` moves it by half a cell, for rounding to the nearest."""
        exact_width, exact_origin = Decimal(str(width)), Decimal(str(origin))
        if half_steps:
            exact_origin -= exact_width / 2
        decimals = max(0, *(-int(number.normalize().as_tuple().exponent) for number in (exact_width, exact_origin)))
        if decimals > _MOST_DECIMALS:
            raise MaskError(f"a width or step may have at most {_MOST_DECIMALS} decimals; choose a coarser one")
        scale = 10**decimals
        grid = cls(width=int(exact_width * scale), origin=int(exact_origin * scale), decimals=decimals)
        if max(grid.width, abs(grid.origin)) >= _LIMIT:
            raise MaskError("a width, step or origin is too large or has too many decimals; choose a simpler one")
        return grid

    @property
    def scale(self) -> int:
        return 10**self.decimals

    def low(self, values: Values, kind: Kind) -> NDArray[np.int64]:
        """The lower end of each value's cell, times ``scale``."""
        if len(values) and float(np.abs(values.astype(np.float64)).max()) * self.scale + self.width >= _LIMIT:
            raise MaskError("the column holds numbers too large for this width or step; choose edges instead")
        if kind is Kind.INTEGER:
            moved = values.astype(np.int64) * self.scale - self.origin
            return moved - moved % self.width + self.origin
        numbers = values.astype(np.float64)
        index = np.floor((numbers - self.origin / self.scale) / (self.width / self.scale)).astype(np.int64)
        low = index * self.width + self.origin
        low = np.where(numbers < low / self.scale, low - self.width, low)
        return np.where(numbers >= (low + self.width) / self.scale, low + self.width, low)

    def low_expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        """The same in an engine."""
        scale, width = self.scale, self.width
        if kind is Kind.INTEGER:
            moved = column.cast("int64") * scale - self.origin
            # In engines a remainder takes the sign of the number.
            return moved - (moved % width + width) % width + self.origin
        numbers = column.cast("float64")
        low = ((numbers - self.origin / scale) / (width / scale)).floor().cast("int64") * width + self.origin
        too_high = numbers < low.cast("float64") / scale
        too_low = numbers >= (low + width).cast("float64") / scale
        return low + too_high.ifelse(-width, too_low.ifelse(width, 0))

    def text(self, scaled: NDArray[np.int64]) -> list[str]:
        """Scaled whole numbers as decimals."""
        if not self.decimals:
            return [str(number) for number in scaled.tolist()]
        parts = ((n, *divmod(abs(n), self.scale)) for n in scaled.tolist())
        return [f"{'-' if n < 0 else ''}{whole}.{rest:0{self.decimals}d}" for n, whole, rest in parts]

    def text_expression(self, scaled: Any) -> ir.Column:
        """The same in an engine, from whole numbers only: engines print floats each in their own way."""
        if not self.decimals:
            return scaled.cast("string")
        size = scaled.abs()
        rest = size % self.scale
        whole = ((size - rest) // self.scale).cast("string")
        padded = (rest + self.scale).cast("string").substr(1)  # the leading 1 keeps the zeros
        return (scaled < 0).ifelse("-", "") + whole + "." + padded


def edge_between(low: float, high: float, kind: Kind) -> float:
    """The roundest number above ``low`` and below ``high``; ``high`` where there is none, as between 41 and 42.

    Of several that are equally round it is one in the middle: the last of them would tell ``high``.

    >>> [edge_between(low, high, Kind.INTEGER) for low, high in ((25.0, 40.0), (18_950.0, 21_020.0), (41.0, 42.0))]
    [30.0, 20000.0, 42.0]
    >>> edge_between(1.5, 2.0, Kind.REAL), edge_between(1952.8, 2001.41, Kind.REAL), edge_between(20, 28, Kind.INTEGER)
    (1.8, 2000.0, 24.0)
    """
    if kind is Kind.INTEGER:
        return _whole_between(low, high)
    middle = low / 2 + high / 2  # where one of so many digits lies between, the nearest to the middle does
    rounded = (float(f"{middle:.{digits}g}") for digits in range(1, 16))
    return next((edge for edge in rounded if low < edge < high), high)


def _whole_between(low: float, high: float) -> float:
    largest = max(abs(low), abs(high), 1.0)
    for power in range(math.floor(math.log10(largest)) + 1, -1, -1):
        step = 10.0**power
        first, last = math.floor(low / step) + 1, math.floor((high - 1) / step)
        edge = min(max(math.floor((low / 2 + high / 2) / step), first), last) * step
        if low < edge < high:
            return edge
    return high


def moment_between(low: np.datetime64, high: np.datetime64, kind: Kind) -> date | datetime:
    """The first moment of the longest stretch of the calendar that begins after ``low`` and before ``high``.

    A year, a month, a day, an hour; where several begin between the two, one in the middle, for the last would tell
    ``high``. That itself is taken only where there is no room, as between a day and the next.

    >>> moment_between(np.datetime64("2020-03-04T09:10"), np.datetime64("2020-03-04T10:00:01"), Kind.TIMESTAMP)
    datetime.datetime(2020, 3, 4, 10, 0)
    >>> moment_between(np.datetime64("2019-11-04"), np.datetime64("2020-02-07"), Kind.DATE)
    datetime.date(2020, 1, 1)
    >>> moment_between(np.datetime64("2020-02-03"), np.datetime64("2020-02-07"), Kind.DATE)
    datetime.date(2020, 2, 5)
    """
    unit = "D" if kind is Kind.DATE else "us"
    first, last = low.astype(f"datetime64[{unit}]"), high.astype(f"datetime64[{unit}]")
    one = np.timedelta64(1, unit)  # type: ignore[call-overload]  # its stubs want the unit as a literal
    middle = first + (last - first) // 2
    stretches = ("Y", "M", "D") if kind is Kind.DATE else ("Y", "M", "D", "h", "m", "s", "ms", "us")
    for stretch in stretches:
        earliest = first.astype(f"datetime64[{stretch}]") + 1
        latest = (last - one).astype(f"datetime64[{stretch}]")
        if earliest <= latest:
            begins = min(max(middle.astype(f"datetime64[{stretch}]"), earliest), latest)
            moment: date | datetime = begins.astype(first.dtype).tolist()
            return moment
    return last.tolist()


def round_ends(values: Values) -> tuple[float, float]:
    """Round numbers around the smallest and the largest of sorted values, each less than a third of the spread away.

    Whole numbers of which there are at most ten between the ends are like categories, and stay.

    >>> round_ends(np.array([17, 43, 90])), round_ends(np.array([20_000.0, 987_657.0])), round_ends(np.array([1, 4]))
    ((10.0, 90.0), (0.0, 1000000.0), (1.0, 4.0))
    """
    low, high = float(values[0]), float(values[-1])
    spread = high - low
    if not sys.float_info.min <= spread / 10 < math.inf:
        return low, high
    step = _round_number_from(spread / 10)
    if values.dtype.kind in "iu":
        step = max(step, 1.0)
    ends = math.floor(low / step) * step, math.ceil(high / step) * step
    return (fifteen_digits(ends[0]), fifteen_digits(ends[1])) if all(map(math.isfinite, ends)) else (low, high)


def without_few(values: Values, counts: NDArray[Any]) -> Values:
    """The sorted values between the ends that a few records lie at or beyond; all where that leaves one or none.

    >>> without_few(np.array([1, 2, 3, 900]), np.array([40, 30, 30, 1])).tolist()
    [1, 2, 3]
    """
    records = np.asarray(counts[: len(values)], dtype=np.float64)
    few = min(FEW, max(1.0, records.sum() / 20))
    first = int(np.searchsorted(np.cumsum(records), few * (1 - 1e-12)))
    last = len(values) - 1 - int(np.searchsorted(np.cumsum(records[::-1]), few * (1 - 1e-12)))
    return values[first : last + 1] if first < last else values


def _round_number_from(number: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is no smaller."""
    power = 10.0 ** math.floor(math.log10(number))
    return next((digit * power for digit in (1, 2, 5) if digit * power >= number * (1 - 1e-12)), 10 * power)
