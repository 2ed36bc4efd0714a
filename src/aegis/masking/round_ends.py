"""Where a column begins and ends, told so that it is nobody's value.

Buckets between the smallest and the largest number give both away, and with them whoever earns most. So ends are
rounded outward, and where buckets are open beyond them a few records lie beyond each.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.data.kind import Values
from aegis.masking.parameter import fifteen_digits

FEW = 5
"""So many records lie at or beyond an end that is open; one in twenty where there are fewer than a hundred."""


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
