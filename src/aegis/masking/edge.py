"""Edges between two values of a column, which are nobody's own where there is room for one.

Edges are published: in the masked table, in its certificate, in the configuration. One that stands on a value says that
somebody has it, a birthday or a salary that is his alone.
"""

from __future__ import annotations

import math
from datetime import date, datetime

import numpy as np

from aegis.data.kind import Kind


def edge_between(low: float, high: float, kind: Kind) -> float:
    """The roundest number above ``low`` and below ``high``; ``high`` where there is none, as between 41 and 42.

    >>> [edge_between(low, high, Kind.INTEGER) for low, high in ((25.0, 40.0), (18_950.0, 21_020.0), (41.0, 42.0))]
    [30.0, 20000.0, 42.0]
    >>> edge_between(1.5, 2.0, Kind.REAL), edge_between(1952.8, 2001.41, Kind.REAL)
    (1.8, 2000.0)
    """
    if kind is Kind.INTEGER:
        return _whole_between(low, high)
    for digits in range(1, 16):
        for number in (high, (low + high) / 2):
            edge = float(f"{number:.{digits}g}")
            if low < edge < high:
                return edge
    return high


def _whole_between(low: float, high: float) -> float:
    largest = max(abs(low), abs(high), 1.0)
    for power in range(math.floor(math.log10(largest)) + 1, -1, -1):
        step = 10.0**power
        edge = math.floor((high - 1) / step) * step
        if low < edge < high:
            return edge
    return high


def moment_between(low: np.datetime64, high: np.datetime64, kind: Kind) -> date | datetime:
    """The first moment of the longest stretch of the calendar that begins after ``low`` and before ``high``.

    A year, a month, a day, an hour: ``high`` itself only where there is no room, as between a day and the next.

    >>> moment_between(np.datetime64("2020-03-04T09:10"), np.datetime64("2020-03-04T10:00:01"), Kind.TIMESTAMP)
    datetime.datetime(2020, 3, 4, 10, 0)
    >>> moment_between(np.datetime64("2019-11-04"), np.datetime64("2020-02-07"), Kind.DATE)
    datetime.date(2020, 1, 1)
    >>> moment_between(np.datetime64("2020-02-03"), np.datetime64("2020-02-07"), Kind.DATE)
    datetime.date(2020, 2, 6)
    """
    unit = "D" if kind is Kind.DATE else "us"
    first, last = low.astype(f"datetime64[{unit}]"), high.astype(f"datetime64[{unit}]")
    before = last - np.timedelta64(1, unit)  # type: ignore[call-overload]  # its stubs want the unit as a literal
    stretches = ("Y", "M", "D") if kind is Kind.DATE else ("Y", "M", "D", "h", "m", "s", "ms", "us")
    begins = (before.astype(f"datetime64[{stretch}]").astype(before.dtype) for stretch in stretches)
    moment: date | datetime = next((begin for begin in begins if begin > first), last).tolist()
    return moment
