"""The range of a column's numbers is read off noisy counts of powers of two: neither cut short nor far too wide."""

from __future__ import annotations

import numpy as np

from aegis.candidates.synthesis.binning import occupied
from aegis.counts.cells import Magnitudes
from aegis.data.kind import Kind

SIZES = Magnitudes()
ZERO, ONE = 93, 124
"""The codes of zero and of the numbers from 1 up to below 2."""


def _counts(**held: float) -> np.ndarray:
    totals = np.zeros(SIZES.size - 1)
    for power, count in held.items():
        totals[ONE + int(power.removeprefix("p"))] = count
    return totals


def test_noise_alone_hardly_ever_widens_a_range_far() -> None:
    far = 0
    for seed in range(400):
        totals = np.random.default_rng(seed).standard_normal(SIZES.size - 1)
        totals[ONE + 4 : ONE + 7] += 60.0
        first, last = occupied(totals, Kind.INTEGER)
        assert first <= ONE + 4
        assert last >= ONE + 6
        far += last > ONE + 9 or first < ONE
    assert far <= 8


def test_a_tail_that_stands_out_together_is_in_the_range_and_what_lies_beside_it() -> None:
    totals = _counts(p11=3.4, p12=3.9, p13=2.8, p14=1.2)
    totals[ZERO] = 160.0
    low, high = SIZES.bounds(*occupied(totals, Kind.INTEGER))
    assert (low, high) == (0.0, 2.0**15)
    totals[ONE + 12] = 0.5
    assert SIZES.bounds(*occupied(totals, Kind.INTEGER))[1] < 2.0, "the same without a middle is no more than noise"


def test_whole_numbers_do_not_reach_below_one_nor_across_zero() -> None:
    totals = _counts(p0=50.0, p1=40.0)
    totals[ONE - 1] = totals[ZERO - 1] = 3.0
    assert occupied(totals, Kind.INTEGER)[0] == ONE
    assert occupied(totals, Kind.REAL)[0] == ONE - 1
    only_zero = np.zeros(SIZES.size - 1)
    only_zero[ZERO], only_zero[ZERO - 1], only_zero[ZERO + 1] = 90.0, 3.0, 3.0
    assert occupied(only_zero, Kind.REAL) == (ZERO, ZERO)


def test_where_nothing_stands_out_the_largest_count_does() -> None:
    assert occupied(_counts(p3=0.5), Kind.REAL) == (ONE + 3, ONE + 3)
