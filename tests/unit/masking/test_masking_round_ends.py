"""Buckets of equal width give away neither the smallest nor the largest value."""

from __future__ import annotations

import numpy as np
import pytest

from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.masking.grid import round_ends, without_few
from aegis.masking.mask import Mask
from aegis.masking.masks.bucketize import Bucketize
from aegis.masking.masks.limits import BottomCode, TopCode
from aegis.masking.masks.ranges import Ranges

PAY = np.arange(20_000, 60_000, 100)


def _edges(values: list[int], mask: Bucketize) -> tuple[float, ...]:
    domain = Domain.of(Kind.INTEGER, values)
    edges = mask.resolve(domain, np.ones(domain.size)).edges
    assert edges is not None
    return edges


@pytest.mark.parametrize("top", [100_000, 987_657, 5_432_101])
def test_edges_of_equal_width_do_not_depend_on_whoever_earns_most(top: int) -> None:
    edges = _edges([*PAY.tolist(), top], Bucketize(count=5))
    assert edges == _edges(PAY.tolist(), Bucketize(count=5))
    assert edges == (28_000, 36_000, 44_000, 52_000)


def test_ranges_lie_between_round_numbers() -> None:
    fitted = [
        Ranges(count=5).resolve(Domain.of(Kind.INTEGER, [*PAY.tolist(), top]), np.ones(len(PAY) + 1))
        for top in (987_657, 987_658, 950_001)
    ]
    assert {(mask.low, mask.high) for mask in fitted} == {(0, 1_000_000)}


@pytest.mark.parametrize("top", [60_001, 987_657])
def test_a_limit_at_a_far_quantile_is_not_what_one_of_a_few_earns(top: int) -> None:
    """A quantile nearer to an end than a few records left the largest number as it was, or published the next one."""
    domain = Domain.of(Kind.INTEGER, [13, *PAY.tolist(), top])
    counts = np.ones(domain.size)
    assert TopCode(quantile=0.9999).resolve(domain, counts).at == PAY[-4]
    assert BottomCode(quantile=0.0001).resolve(domain, counts).at == PAY[3]
    assert TopCode(quantile=0.95).resolve(domain, counts).at == PAY[380]


@pytest.mark.parametrize("mask", [Bucketize(count=4), Ranges(count=4)])
def test_what_is_fitted_writes_what_it_could_write(mask: Mask) -> None:
    domain = Domain.of(Kind.INTEGER, [*PAY.tolist(), 987_657])
    fitted = mask.resolve(domain, np.ones(domain.size))
    texts = sorted(set(fitted.on_values(domain.values).tolist()))  # type: ignore[attr-defined]
    assert all(mask.could_write(texts))
    assert all(fitted.could_write(texts))
    assert not any("987657" in text for text in texts)


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        ([-3, 94], (-10, 100)),
        ([0.013, 0.087], (0.01, 0.09)),
        ([7, 9], (7, 9)),
        ([5, 5], (5, 5)),
        ([0, 1e308], None),
        ([0, 5e-324], (0, 5e-324)),
    ],
)
def test_ends_are_round_and_hold_every_value(values: list[float], ends: tuple[float, float] | None) -> None:
    low, high = round_ends(np.array(values))
    assert low <= values[0]
    assert values[-1] <= high
    assert ends is None or (low, high) == pytest.approx(ends)


def test_a_column_that_nearly_all_share_keeps_its_ends() -> None:
    values = np.array([1, 2, 3])
    assert without_few(values, np.array([1, 500, 1])).tolist() == [1, 2, 3]
    assert without_few(values, np.array([1, 1, 1])).tolist() == [1, 2, 3]
