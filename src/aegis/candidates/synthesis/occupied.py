"""From which power of two to which the numbers of a column lie, read off noisy counts: it costs nothing more.

What lies outside the range counts at its end, and whatever it would have told is lost; a range that is twice too wide
costs little, because the grid is made finer where records lie. A power of two that reaches far beyond all records,
taken for occupied by chance, would cost the whole grid. So far away only what is clearly more than noise counts, and
beside what is occupied whatever is more likely so than not.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from aegis.counts.cells import Magnitudes
from aegis.data.kind import Kind

Floats = NDArray[np.float64]

CLEAR = 4.0
"""A count above so many standard deviations of its noise is taken for more than noise."""
CLEAR_TOGETHER, MOST_TOGETHER = 5.0, 8
"""So far the counts of at most so many neighbours have to stand out together: there are more ways to choose them."""
_RUNS = (2, 4, 8, 16)
LIKELY = 1.0
"""A count of at least this beside an occupied one is more likely another such than noise."""


def occupied(totals: Floats, kind: Kind) -> tuple[int, int]:
    """The first and last power of two (of `Magnitudes`) that holds records, given counts in deviations of their noise.

    >>> totals = np.zeros(Magnitudes().size - 1)
    >>> totals[93] = 160.0  # zero
    >>> occupied(totals, Kind.INTEGER)
    (93, 93)
    >>> totals[135:139] = 3.4, 3.9, 2.8, 1.2  # 2,048 to 16,384, and a little up to 32,768
    >>> occupied(totals, Kind.INTEGER)
    (93, 138)
    """
    if kind is not Kind.REAL:  # no whole number lies between zero and one
        totals = np.where(
            [_holds_numbers(power, 0.0) != _holds_numbers(power, 1.0) for power in range(len(totals))], 0.0, totals
        )
    clear = np.flatnonzero(totals > CLEAR)
    first, last = (int(clear[0]), int(clear[-1])) if len(clear) else (int(np.argmax(totals)),) * 2
    # A long tail may hold many records, and no power of two enough of them to stand out by itself.
    while (further := _clearest_run(totals[last + 1 :])) is not None:
        last += 1 + further
    while (further := _clearest_run(totals[:first][::-1])) is not None:
        first -= 1 + further
    while _goes_on(first, first - 1, totals, kind):
        first -= 1
    while _goes_on(last, last + 1, totals, kind):
        last += 1
    return first, last


def _clearest_run(totals: Floats) -> int | None:
    """The last of the neighbours that together stand out most; None where no neighbours clearly do."""
    sums = np.append(0.0, np.cumsum(totals))
    best, found = CLEAR_TOGETHER, None
    for many in range(2, min(MOST_TOGETHER, len(totals)) + 1):
        together = (sums[many:] - sums[:-many]) / math.sqrt(many)
        place = int(np.argmax(together))
        if together[place] > best:
            best, found = float(together[place]), place + many - 1
    return found


def _goes_on(end: int, beyond: int, totals: Floats, kind: Kind) -> bool:
    """Whether the power of two beyond an end is likely occupied too: of the same sign, and one of whole numbers."""
    if not 0 <= beyond < len(totals) or totals[beyond] <= LIKELY:
        return False
    least = 0.0 if kind is Kind.REAL else 1.0
    return _holds_numbers(end, least) and _holds_numbers(beyond, least)


def _holds_numbers(power: int, least: float) -> bool:
    """Whether all numbers of a cell have one sign and are no smaller than that."""
    low, high = Magnitudes().bounds(power, power)
    return low * high > 0 and min(abs(low), abs(high)) >= least


def standing_together(totals: Floats, *, alone: float) -> Floats:
    """By how many deviations each cell stands out together with neighbours, at most.

    A cell counts with ``alone`` at most: what lies beside a number that many records have may be empty.

    >>> standing_together(np.array([1.5, 1.5, 1.5, 1.5, 0.0, 0.0, 90.0]), alone=2.0).round(1).tolist()
    [3.0, 3.0, 3.0, 3.0, 2.2, 1.8, 1.8]
    """
    sums = np.append(0.0, np.cumsum(np.minimum(totals, alone)))
    most = np.zeros(len(totals))
    for many in _RUNS:
        if many > len(totals):
            break
        together = (sums[many:] - sums[:-many]) / math.sqrt(many)
        for place in range(many):
            part = most[place : place + len(together)]
            np.maximum(part, together, out=part)
    return most
