"""Known values of the measures, and laws that tie one measure to another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.stats import chi2_contingency

from aegis.measures.chi_square import chi_square, chi_square_test, cramers_v
from aegis.measures.functional_dependency import g1, g2, g3
from aegis.measures.information import (
    conditional_entropy,
    entropy,
    jensen_shannon,
    kl_divergence,
    mutual_information,
    theils_u,
    theils_u_attribute,
    total_variation,
)
from aegis.measures.leave_one_out import leave_one_out_accuracy, leave_one_out_gain, leave_one_out_information

whole = arrays(np.int64, (5, 3), elements=st.integers(0, 12)).filter(lambda c: c.sum() > 0)
fractional = arrays(np.float64, (5, 3), elements=st.floats(0, 12, allow_subnormal=False)).filter(lambda c: c.sum() > 1)
laws = settings(max_examples=80, deadline=None)


def rows_of(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    a, y = np.nonzero(np.ones_like(counts))
    times = counts.ravel()
    return np.repeat(a, times), np.repeat(y, times)


@given(counts=whole)
@laws
def test_the_three_errors_equal_their_definitions_on_records(counts: NDArray[np.int64]) -> None:
    a, y = rows_of(counts)
    differ = (a[:, None] == a[None, :]) & (y[:, None] != y[None, :])
    assert float(g1(counts)) == pytest.approx(differ.mean())
    assert float(g2(counts)) == pytest.approx(differ.any(axis=1).mean())
    removed = sum(len(y[a == v]) - np.bincount(y[a == v]).max() for v in np.unique(a))
    assert float(g3(counts)) == pytest.approx(removed / len(a))


@given(counts=whole)
@laws
def test_leave_one_out_equals_leaving_each_record_out(counts: NDArray[np.int64]) -> None:
    a, y = rows_of(counts)
    n, shares = len(a), counts.sum(axis=0) / counts.sum()
    bits, hits = 0.0, 0.0
    for i in range(n):
        others = np.arange(n) != i
        same = others & (a == a[i])
        predicted = (np.bincount(y[same], minlength=3) + 2 * shares) / (same.sum() + 2)
        bits += np.log2(predicted[y[i]] / shares[y[i]])
        hits += predicted[y[i]] > np.delete(predicted, y[i]).max() + 1e-8
    assert float(leave_one_out_gain(counts)) == pytest.approx(bits / n, abs=1e-9)
    assert float(leave_one_out_information(counts)) == pytest.approx(max(bits / n, 0), abs=1e-9)
    assert float(leave_one_out_accuracy(counts)) == pytest.approx(max(hits / n, shares.max()))


@given(counts=fractional)
@laws
def test_leave_one_out_information_is_at_most_the_plug_in(counts: NDArray[np.float64]) -> None:
    assert leave_one_out_information(counts) <= mutual_information(counts) + 1e-9


def test_an_identifier_is_perfect_to_the_plug_in_and_nothing_when_left_out() -> None:
    counts = np.eye(2, dtype=np.int64)[np.arange(40) % 2]
    assert float(mutual_information(counts)) == pytest.approx(1.0)
    assert float(g3(counts)) == 0.0
    assert float(leave_one_out_information(counts)) == 0.0
    assert float(leave_one_out_accuracy(counts)) == 0.5


@given(counts=whole)
@laws
def test_information_identities(counts: NDArray[np.int64]) -> None:
    label, attribute = entropy(counts.sum(axis=0)), entropy(counts.sum(axis=1))
    information = mutual_information(counts)
    assert float(information) == pytest.approx(float(mutual_information(counts.T)), abs=1e-9)
    assert float(label - conditional_entropy(counts)) == pytest.approx(float(information), abs=1e-9)
    assert float(theils_u(counts) * label) == pytest.approx(float(information), abs=1e-9)
    assert float(theils_u_attribute(counts) * attribute) == pytest.approx(float(information), abs=1e-9)
    assert float(kl_divergence(counts)) == pytest.approx(float(information) * np.log(2))
    # Pinsker, and the bound of Jensen–Shannon by total variation.
    distance = float(total_variation(counts))
    assert 2 * distance**2 <= float(kl_divergence(counts)) + 1e-9
    assert float(jensen_shannon(counts)) <= distance + 1e-9


@given(counts=whole)
@laws
def test_chi_square_agrees_with_scipy(counts: NDArray[np.int64]) -> None:
    there = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    ours = chi_square_test(counts)
    assert ours.statistic == pytest.approx(float(chi_square(counts)), abs=1e-9)
    if min(there.shape) < 2:
        assert (ours.degrees_of_freedom, ours.p_value) == (0, 1.0)
        return
    theirs = chi2_contingency(there, correction=False)
    assert ours.statistic == pytest.approx(theirs.statistic, abs=1e-9)
    assert ours.degrees_of_freedom == theirs.dof
    assert ours.p_value == pytest.approx(theirs.pvalue, abs=1e-12)
    v = np.sqrt(theirs.statistic / counts.sum() / (min(there.shape) - 1))
    assert float(cramers_v(counts)) == pytest.approx(v)


def test_ten_million_records_lose_no_precision() -> None:
    counts = np.array([[4_000_000, 1_000_000], [1_000_000, 4_000_000]])
    small = counts / 1_000_000
    assert float(mutual_information(counts)) == pytest.approx(float(mutual_information(small)), abs=1e-12)
    assert float(chi_square(np.full((100, 4), 25_000))) == pytest.approx(0.0, abs=1e-6)


def test_cramers_v_rises_when_values_that_say_the_same_are_merged() -> None:
    counts = np.array([[10, 0, 0], [0, 5, 5], [0, 5, 5]])
    merged = np.array([[10, 0, 0], [0, 10, 10]])
    assert float(cramers_v(counts)) == pytest.approx(0.7071, abs=1e-4)
    assert float(cramers_v(merged)) == pytest.approx(1.0)
