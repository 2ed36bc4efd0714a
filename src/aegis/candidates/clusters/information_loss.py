"""Information loss: the deviation that anonymization adds, over the deviation the table has around its own centre.

Squared difference for numbers, 0 or 1 for categories. On the *raw* scale a number counts in its own unit, so one
with a wide range outweighs everything else; on the *standardised* scale it is divided by its standard deviation first.
The two are different numbers and never compared with one another.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from aegis.candidates.clusters.arrays import Floats, Ints
from aegis.candidates.clusters.centroids import Centers, centers_of
from aegis.candidates.clusters.records import Records
from aegis.errors import AnonymizerError

Scale = Literal["raw", "standardised"]
SCALES: tuple[Scale, ...] = ("raw", "standardised")


def divisors(records: Records, *, scale: Scale) -> Floats:
    """What each numeric quasi-identifier is divided by before differences are squared."""
    if scale not in SCALES:
        raise AnonymizerError(f"there is no scale {scale!r}: use 'raw' or 'standardised'")
    if scale == "raw":
        return np.ones(records.numeric.shape[1])
    spread = records.numeric.std(axis=0)
    return np.where(spread > 0, spread, 1.0)


def deviation(records: Records, rows: Centers, *, scale: Scale = "raw") -> float:
    """The summed difference between the records and what stands in their place."""
    gaps = (records.numeric - rows.numeric) / divisors(records, scale=scale)
    return float((gaps**2).sum() + (records.categorical != rows.categorical).sum())


def total_deviation(records: Records, *, scale: Scale = "raw") -> float:
    """The denominator: the deviation of all records from the mean and mode of the whole table."""
    everyone: Ints = np.zeros(len(records), dtype=np.int64)
    return deviation(records, centers_of(records, everyone).rows(everyone), scale=scale)


def information_loss(records: Records, rows: Centers, *, scale: Scale = "raw") -> float:
    """The share of the table's deviation that publishing ``rows`` costs; 0 where there is nothing to lose.

    >>> records = Records.from_arrays(numeric=[1.0, 3.0, 7.0, 9.0])
    >>> labels = np.array([0, 0, 1, 1])
    >>> information_loss(records, centers_of(records, labels).rows(labels))
    0.1
    """
    total = total_deviation(records, scale=scale)
    return deviation(records, rows, scale=scale) / total if total > 0 else 0.0
