"""The references: exact, pooled, per configuration, sampling, and the joint behind a random mask."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import SummaryError
from aegis.masking.transition import Partition
from aegis.measures.measure import AttributeMeasure, find_attribute_measure, measures_of
from aegis.reconstruction.constraint import Constraint
from aegis.reconstruction.rebuilt_joints import Start, closed_form, per_configuration, pooled, sample

Ints = NDArray[np.int64]
laws = settings(max_examples=50, deadline=None)


def partition(codes: Ints) -> Partition:
    groups = int(codes.max()) + 1
    return Partition(codes=codes, target=Domain.of(Kind.INTEGER, np.arange(groups)))


@st.composite
def masked_tables(draw: st.DrawFn) -> tuple[Ints, Partition]:
    values, labels = draw(st.integers(1, 8)), draw(st.integers(2, 3))
    cells = draw(st.lists(st.integers(0, 12), min_size=values * labels, max_size=values * labels))
    counts = np.array(cells, dtype=np.int64).reshape(values, labels)
    counts[0, 0] += 1
    codes = np.unique(draw(st.lists(st.integers(0, 2), min_size=values, max_size=values)), return_inverse=True)[1]
    return counts, partition(codes)


@given(case=masked_tables(), known=st.booleans())
@laws
def test_the_closed_form_is_the_limit_of_the_fit(case: tuple[Ints, Partition], known: bool) -> None:
    counts, mask = case
    histogram = counts.sum(axis=1) if known else None
    masked = mask.push(counts)
    direct = closed_form(mask, masked, histogram=histogram)
    fitted = per_configuration(mask, masked, histogram=histogram)
    np.testing.assert_allclose(direct.counts, fitted.counts, atol=1e-9)
    assert fitted.diagnosis.iterations <= 2  # one sweep to reach it, one to see that nothing moves


@given(case=masked_tables(), known=st.booleans())
@laws
def test_the_drafts_first_start_comes_to_the_same(case: tuple[Ints, Partition], known: bool) -> None:
    counts, mask = case
    histogram = counts.sum(axis=1) if known else None
    masked = mask.push(counts)
    from_masked = per_configuration(mask, masked, histogram=histogram, start=Start.MASKED)
    np.testing.assert_allclose(from_masked.counts, closed_form(mask, masked, histogram=histogram).counts, atol=1e-6)


@pytest.mark.parametrize("name", [name for name, measure in measures_of(AttributeMeasure).items() if measure.invariant])
@given(case=masked_tables(), known=st.booleans())
@laws
def test_the_deviation_per_configuration_is_zero(name: str, case: tuple[Ints, Partition], known: bool) -> None:
    """Whatever the mask, the paper's reconstruction gives back the value of the masked joint."""
    counts, mask = case
    masked = mask.push(counts)
    found = per_configuration(mask, masked, histogram=counts.sum(axis=1) if known else None)
    measure = find_attribute_measure(name)
    assert float(measure(found.counts)) == pytest.approx(float(measure(masked)), rel=1e-6, abs=1e-6)


@given(case=masked_tables())
@laws
def test_equalised_cells_are_independent(case: tuple[Ints, Partition]) -> None:
    """So the draft's case 3 prefers the configuration whose masked attributes say least."""
    counts, mask = case
    found = per_configuration(mask, mask.push(counts), histogram=counts.sum(axis=1), start="equalised")
    product = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    np.testing.assert_allclose(found.counts, product, atol=1e-7)
    assert float(find_attribute_measure("mutual-information")(found.counts)) == pytest.approx(0.0, abs=1e-9)


@given(case=masked_tables(), other=st.lists(st.integers(0, 2), min_size=8, max_size=8))
@laws
def test_pooling_lies_between_each_mask_and_the_truth(case: tuple[Ints, Partition], other: list[int]) -> None:
    """The pooled joint merges to every masked joint, so it tells as much as each, and at most the truth."""
    counts, first = case
    second = partition(np.unique(other[: len(counts)], return_inverse=True)[1])
    masked = {"mask 1": (first, first.push(counts)), "mask 2": (second, second.push(counts))}
    found = pooled(masked, histogram=counts.sum(axis=1))
    information = find_attribute_measure("mutual-information")
    for mask, joint in masked.values():
        np.testing.assert_allclose(mask.push(found.counts), joint, atol=1e-5)
        assert float(information(found.counts)) >= float(information(joint)) - 1e-6
    # Entropy is largest among all joints with these sums, the true one included: so information is smallest.
    assert float(information(found.counts)) <= float(information(counts)) + 1e-6


def test_without_a_histogram_the_pooled_joint_may_tell_more_than_the_truth() -> None:
    counts = np.array([[4, 5], [0, 0], [0, 4], [0, 0]])
    masks = [partition(np.array(codes)) for codes in ([0, 0, 1, 1], [0, 1, 1, 0])]
    masked = {f"mask {i}": (mask, mask.push(counts)) for i, mask in enumerate(masks)}
    information = find_attribute_measure("mutual-information")
    assert float(information(pooled(masked).counts)) > float(information(counts)) + 0.089
    assert float(information(pooled(masked, histogram=counts.sum(axis=1)).counts)) <= float(information(counts)) + 1e-9


def test_pooling_uses_what_else_is_known_and_names_what_contradicts() -> None:
    counts = np.array([[5, 1], [2, 2], [0, 6], [3, 3]])
    halves = partition(np.array([0, 0, 1, 1]))
    everything = pooled({"mask 1": (halves, halves.push(counts))}, further=[Constraint.joint(counts)])
    np.testing.assert_allclose(everything.counts, counts)
    wrong = halves.push(counts) + np.array([[1, -1], [0, 0]])
    with pytest.raises(SummaryError, match="mask 1 and mask 2 contradict"):
        pooled({"mask 1": (halves, halves.push(counts)), "mask 2": (halves, wrong)})
    same = pooled({"mask 1": (halves, halves.push(counts)), "mask 2": (halves, halves.push(counts))})
    np.testing.assert_allclose(same.counts, closed_form(halves, halves.push(counts)).counts)


def test_a_histogram_that_contradicts_its_mask_is_refused_by_the_closed_form_too() -> None:
    halves = partition(np.array([0, 0, 1]))
    with pytest.raises(SummaryError, match="histogram and mask contradict each other by 2 records"):
        closed_form(halves, np.array([[2, 2], [3, 3]]), histogram=np.array([4, 2, 6]))
    with pytest.raises(SummaryError, match="no start called 'cold'"):
        per_configuration(halves, np.array([[2, 2], [3, 3]]), start="cold")


@given(case=masked_tables(), seed=st.integers(0, 20))
@laws
def test_a_sample_keeps_the_masked_joint_and_the_seed_decides(case: tuple[Ints, Partition], seed: int) -> None:
    counts, mask = case
    for histogram in (None, counts.sum(axis=1)):
        drawn = [
            sample(mask, mask.push(counts), histogram=histogram, rng=np.random.default_rng(seed)).counts
            for _ in range(2)
        ]
        np.testing.assert_array_equal(drawn[0], drawn[1])
        np.testing.assert_array_equal(mask.push(drawn[0]), mask.push(counts))
        if histogram is not None:
            assert (drawn[0][histogram == 0] == 0).all()


def test_samples_have_the_right_mean() -> None:
    counts = np.array([[8, 2], [1, 9], [4, 6]])
    mask, rng = partition(np.array([0, 0, 1])), np.random.default_rng(0)
    kept = [sample(mask, mask.push(counts), histogram=counts.sum(axis=1), rng=rng).counts for _ in range(4000)]
    expected = closed_form(mask, mask.push(counts), histogram=counts.sum(axis=1)).counts
    np.testing.assert_allclose(np.mean(kept, axis=0), expected, atol=0.15)
    literal = [sample(mask, mask.push(counts), joint=counts, rng=rng).counts for _ in range(4000)]
    np.testing.assert_allclose(np.mean(literal, axis=0), counts, atol=0.15)
    np.testing.assert_array_equal(mask.push(literal[0]).sum(axis=1), mask.push(counts).sum(axis=1))
    with pytest.raises(SummaryError, match="whole counts"):
        sample(mask, mask.push(counts) + 0.5, rng=rng)
