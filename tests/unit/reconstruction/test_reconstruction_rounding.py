from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from aegis.reconstruction.rebuilt_joints import randomised, systematic

Real = NDArray[np.float64]
tables = arrays(np.float64, (5, 3), elements=st.integers(0, 40).map(lambda k: k / 7))
laws = settings(max_examples=60, deadline=None)


@pytest.mark.parametrize("rounding", [randomised, systematic])
@given(counts=tables, seed=st.integers(0, 50))
@laws
def test_every_cell_goes_to_a_neighbour_and_the_seed_decides(
    rounding: Callable[..., NDArray[np.int64]], counts: Real, seed: int
) -> None:
    whole = rounding(counts, rng=np.random.default_rng(seed))
    assert whole.dtype == np.int64
    assert (np.abs(whole - counts) < 1).all()
    np.testing.assert_array_equal(whole, rounding(counts, rng=np.random.default_rng(seed)))


@given(counts=tables, seed=st.integers(0, 50))
@laws
def test_systematic_rounding_keeps_total_and_rows(counts: Real, seed: int) -> None:
    whole = systematic(counts, rng=np.random.default_rng(seed))
    assert abs(whole.sum() - counts.sum()) < 1
    assert (np.abs(whole.sum(axis=1) - counts.sum(axis=1)) < 1 + 1e-9).all()
    if abs(counts.sum() - round(counts.sum())) < 1e-9:
        assert whole.sum() == round(counts.sum())


def test_randomised_and_systematic_rounding_are_unbiased() -> None:
    counts = np.array([[0.2, 1.7], [2.5, 0.6]])
    for rounding in (randomised, systematic):
        rng = np.random.default_rng(0)
        mean = np.mean([rounding(counts, rng=rng) for _ in range(20_000)], axis=0)
        np.testing.assert_allclose(mean, counts, atol=0.015)


def test_the_papers_rounding_moves_the_total() -> None:
    counts = np.full((10, 4), 0.5)
    totals = {int(randomised(counts, rng=np.random.default_rng(seed)).sum()) for seed in range(30)}
    assert len(totals) > 5
    assert {int(systematic(counts, rng=np.random.default_rng(seed)).sum()) for seed in range(30)} == {20}


def test_what_is_whole_up_to_noise_stays() -> None:
    counts = np.array([[3 - 1e-12, 4 + 1e-12]])
    for rounding in (randomised, systematic):
        assert rounding(counts, rng=np.random.default_rng(0)).tolist() == [[3, 4]]
