"""A number for each value of a masked column, so that a masked number keeps its order."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from aegis.data.domain import Domain
from aegis.data.interval import Interval
from aegis.data.kind import Kind

_STARRED = re.compile(r"^(-?\d+)(\*+)$")


def as_numbers(domain: Domain) -> NDArray[np.float64] | None:
    """A number for each value of the domain (missing apart), or None where its values are categories.

    >>> as_numbers(Domain.of(Kind.TEXT, ["[20, 30)", "[30, 40)"])).tolist()
    [25.0, 35.0]
    >>> as_numbers(Domain.of(Kind.TEXT, ["2*", "3*"])).tolist()
    [24.5, 34.5]
    >>> as_numbers(Domain.of(Kind.TEXT, ["(-inf, 20)", "[20, 30)", "[30, inf)"])).tolist()
    [15.0, 25.0, 35.0]
    >>> as_numbers(Domain.of(Kind.TEXT, ["red", "2*"])) is None
    True
    """
    if domain.kind in (Kind.DATE, Kind.TIMESTAMP):
        return domain.values.astype("datetime64[s]").astype(np.int64) / 86_400.0
    if domain.kind is not Kind.TEXT:
        return domain.values.astype(np.float64)
    if not len(domain.values):
        return None
    intervals = []
    for text in domain.values.tolist():
        interval = _interval(text)
        if interval is None:
            return None
        intervals.append(interval)
    return _middles(intervals)


def _interval(text: str) -> Interval | None:
    if starred := _STARRED.match(text):
        lowest = int(starred[1]) * 10 ** len(starred[2])
        return Interval(lowest, lowest + 10 ** len(starred[2]) - 1, True, True)
    return Interval.parse(text)


def _middles(intervals: list[Interval]) -> NDArray[np.float64]:
    """The middle of each; one without end is taken to be as wide as the others, or two would meet in a point."""
    low = np.array([interval.low for interval in intervals])
    high = np.array([interval.high for interval in intervals])
    widths = np.sort((high - low)[np.isfinite(high - low)])
    # The median; numpy's own first loads its masked arrays.
    middle = float(widths[(len(widths) - 1) // 2] + widths[len(widths) // 2]) / 2 if len(widths) else 0.0
    width = middle if middle > 0 else 1.0
    low, high = np.where(np.isinf(low), high - width, low), np.where(np.isinf(high), low + width, high)
    return np.where(np.isfinite(low + high), (low + high) / 2, 0.0)
