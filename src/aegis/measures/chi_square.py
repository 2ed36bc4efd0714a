"""How far the counts are from what independence of attribute and label would give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aegis.counts.joint import Counts, divisor
from aegis.measures.measure import Scaling, attribute_measure


@attribute_measure(
    "chi-square",
    unit="χ² statistic",
    invariant=True,
    monotone=True,
    reference="Pearson 1900; Aegis section 3.2",
    scaling=Scaling.LINEAR,
)
def chi_square(counts: Counts) -> NDArray[np.float64]:
    """Pearson's statistic: squared differences from independence over the expected counts; it grows with the rows.

    >>> float(chi_square(np.array([[10, 0], [0, 10]])))
    20.0
    """
    counts = np.asarray(counts, dtype=np.float64)
    rows, columns = counts.sum(axis=-1), counts.sum(axis=-2)
    expected = rows[..., :, None] * columns[..., None, :] / divisor(rows.sum(axis=-1))[..., None, None]
    occurring = expected > 0
    return np.where(occurring, (counts - expected) ** 2 / np.where(occurring, expected, 1.0), 0.0).sum(axis=(-2, -1))


@attribute_measure(
    "cramers-v",
    unit="share of the largest possible",
    upper=1.0,
    invariant=False,
    monotone=False,
    reference="Cramér 1946, without the bias correction",
)
def cramers_v(counts: Counts) -> NDArray[np.float64]:
    """The square root of χ² over its maximum for tables with as many values; 0 where one side is constant.

    Merging values lowers the maximum too, so it may rise under a mask.

    >>> float(cramers_v(np.array([[10, 0], [0, 10]])))
    1.0
    """
    sides = np.minimum((counts.sum(axis=-1) > 0).sum(axis=-1), (counts.sum(axis=-2) > 0).sum(axis=-1))
    most = np.asarray(counts.sum(axis=(-2, -1)) * np.maximum(sides - 1, 0), dtype=np.float64)
    return np.minimum(np.sqrt(chi_square(counts) / divisor(most)), 1.0) * (sides > 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChiSquareTest:
    """Pearson's test of independence of one table."""

    statistic: float
    degrees_of_freedom: int
    p_value: float


def chi_square_test(counts: Counts) -> ChiSquareTest:
    """Pearson's test of one table; values and labels that never occur do not count as freedom.

    >>> test = chi_square_test(np.array([[10, 0], [0, 10]]))
    >>> test.statistic, test.degrees_of_freedom, round(test.p_value, 9)
    (20.0, 1, 7.744e-06)
    """
    from scipy.special import chdtrc  # slow to import, and rankings need no p-value

    rows = int((counts.sum(axis=1) > 0).sum())
    columns = int((counts.sum(axis=0) > 0).sum())
    freedom = max(rows - 1, 0) * max(columns - 1, 0)
    statistic = float(chi_square(counts)) if freedom else 0.0
    return ChiSquareTest(
        statistic=statistic,
        degrees_of_freedom=freedom,
        p_value=float(chdtrc(freedom, statistic)) if freedom else 1.0,
    )
