"""Whether two samples of scores differ: Mann–Whitney U, and Holm's correction where many pairs are asked about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import mannwhitneyu

from aegis.errors import MeasureError


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTest:
    """The two-sided Mann–Whitney U test of two samples; ``u`` counts the pairs that the first sample wins."""

    u: float
    p_value: float


def mann_whitney(first: ArrayLike, second: ArrayLike) -> RankTest:
    """Test whether scores of the first sample tend to be higher or lower than those of the second.

    >>> mann_whitney([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    RankTest(u=0.0, p_value=0.1)
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.size < 1 or b.size < 1:
        raise MeasureError("a rank test needs at least one score on each side")
    if np.ptp(np.concatenate([a, b])) == 0:  # all tied: no evidence, and a variance of zero
        return RankTest(u=a.size * b.size / 2, p_value=1.0)
    test = mannwhitneyu(a, b, alternative="two-sided")
    return RankTest(u=float(test.statistic), p_value=float(test.pvalue))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values (Holm 1979): below α together, the chance of any false alarm is at most α.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    unadjusted = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(unadjusted, kind="stable")
    steps = np.maximum.accumulate(unadjusted[order] * (len(unadjusted) - np.arange(len(unadjusted))))
    adjusted = np.empty_like(unadjusted)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted.tolist()
