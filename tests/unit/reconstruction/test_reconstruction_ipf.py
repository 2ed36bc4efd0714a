"""Laws of proportional fitting: it keeps what it is given, has the maximum-entropy form, and says when it cannot."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from aegis.errors import NotConvergedError, SummaryError
from aegis.reconstruction.constraint import Constraint, check_consistent, equations, possible_cells
from aegis.reconstruction.ipf import Stopping, atoms, fit

Ints = NDArray[np.int64]
laws = settings(max_examples=60, deadline=None)


def grouped(counts: Ints, codes: Ints, *, by_label: bool, name: str) -> Constraint:
    out = np.zeros((codes.max() + 1, counts.shape[1]), dtype=np.int64)
    np.add.at(out, codes, counts)
    return Constraint(name=name, codes=codes, targets=out if by_label else out.sum(axis=1))


@st.composite
def problems(draw: st.DrawFn) -> tuple[Ints, list[Constraint]]:
    """A joint, and constraints that it satisfies: overlapping partitions, some with the label and some without."""
    values, labels = draw(st.integers(2, 8)), draw(st.integers(1, 3))
    cells = draw(st.lists(st.integers(0, 9), min_size=values * labels, max_size=values * labels))
    counts = np.array(cells, dtype=np.int64).reshape(values, labels)
    counts[0, 0] += 1
    constraints = []
    for number in range(draw(st.integers(1, 4))):
        codes = np.unique(draw(st.lists(st.integers(0, 3), min_size=values, max_size=values)), return_inverse=True)[1]
        by_label = number == 0 or draw(st.booleans())
        constraints.append(grouped(counts, codes, by_label=by_label, name=f"mask {number}"))
    if draw(st.booleans()):
        constraints.append(Constraint.histogram(counts.sum(axis=1)))
    return counts, constraints


@given(problem=problems())
@laws
def test_a_fit_satisfies_its_constraints(problem: tuple[Ints, list[Constraint]]) -> None:
    counts, constraints = problem
    found = fit(constraints)
    assert found.diagnosis.converged
    assert (found.counts >= 0).all()
    for constraint in constraints:
        np.testing.assert_allclose(constraint.difference(found.counts), 0.0, atol=1e-5)
    assert found.counts.sum() == pytest.approx(counts.sum())


@given(problem=problems())
@laws
def test_a_fit_has_the_form_and_the_entropy_of_the_maximum(problem: tuple[Ints, list[Constraint]]) -> None:
    """Positive cells are a product of one factor per target, and no feasible joint has a larger entropy."""
    counts, constraints = problem
    cells = fit(constraints).counts.ravel()
    there = cells > 1e-9
    A = equations(constraints, counts.shape[1])[0].toarray()[:, there]
    logs = np.log(cells[there])
    factors = np.linalg.lstsq(A.T, logs, rcond=None)[0]
    np.testing.assert_allclose(A.T @ factors, logs, atol=1e-3)
    truth = counts.ravel()[counts.ravel() > 0]
    entropy, of_truth = -(cells[there] * logs).sum(), -(truth * np.log(truth)).sum()
    assert entropy >= of_truth - 1e-5 * max(1.0, abs(of_truth))


@given(problem=problems(), seed=st.integers(0, 9))
@laws
def test_the_order_of_constraints_does_not_matter(problem: tuple[Ints, list[Constraint]], seed: int) -> None:
    _, constraints = problem
    order = np.random.default_rng(seed).permutation(len(constraints))
    other = fit([constraints[i] for i in order])
    np.testing.assert_allclose(other.counts, fit(constraints).counts, atol=1e-4)


@given(problem=problems())
@laws
def test_atoms_change_nothing(problem: tuple[Ints, list[Constraint]]) -> None:
    counts, constraints = problem
    by_value = fit(constraints, start=np.ones(counts.shape))  # a given start is fitted value by value
    np.testing.assert_allclose(fit(constraints).counts, by_value.counts, atol=1e-4)


@given(problem=problems())
@laws
def test_help_changes_the_speed_and_not_the_limit(problem: tuple[Ints, list[Constraint]]) -> None:
    _, constraints = problem
    plain = fit(constraints, plain=True, require_convergence=False, stopping=Stopping(max_iterations=3000))
    if plain.diagnosis.converged:
        np.testing.assert_allclose(fit(constraints).counts, plain.counts, atol=1e-3)


def test_every_cell_that_can_be_positive_is_found() -> None:
    five = Constraint(name="mask 1", codes=np.array([0, 1, 1]), targets=np.array([[5.0], [3.0]]))
    same = Constraint(name="mask 2", codes=np.array([0, 0, 1]), targets=np.array([[5.0], [3.0]]))
    possible = possible_cells([five, same], np.ones((3, 1), dtype=bool))
    assert possible is not None
    assert possible.ravel().tolist() == [True, False, True]
    plain = fit([five, same], plain=True, require_convergence=False)
    assert not plain.diagnosis.converged  # the middle cell shrinks like one over the sweeps
    found = fit([five, same])
    assert found.diagnosis.cells_forced_to_zero == 1
    np.testing.assert_allclose(found.counts.ravel(), [5, 0, 3], atol=1e-9)


def test_many_crossing_masks_of_a_long_column_converge() -> None:
    rng = np.random.default_rng(0)
    counts = rng.multinomial(20_000, rng.dirichlet(np.full(1200, 0.3))).reshape(400, 3)
    constraints = [Constraint.histogram(counts.sum(axis=1))]
    for number in range(10):
        edges = np.sort(rng.choice(399, size=20, replace=False))
        codes = np.searchsorted(edges, np.arange(400))
        constraints.append(grouped(counts, codes, by_label=True, name=f"mask {number}"))
    found = fit(constraints)
    assert found.diagnosis.iterations < 100
    assert found.diagnosis.residual_records < 1e-4


def test_zeros_of_the_start_are_structural() -> None:
    start = np.array([[1.0, 0.0], [1.0, 1.0]])
    rows = Constraint.histogram(np.array([4, 6]))
    label = Constraint.label(np.array([5, 5]), values=2)
    assert fit([rows, label], start=start).counts[0, 1] == 0.0
    with pytest.raises(SummaryError, match="only zero cells"):
        fit([rows, label], start=np.array([[1.0, 0.0], [1.0, 0.0]]))
    impossible = Constraint.histogram(np.array([6, 4]))
    with pytest.raises(SummaryError, match="no joint satisfies all constraints: at least 2 records"):
        fit([impossible, label], start=start)


def test_ranges_that_cross_a_mask_are_one_more_constraint() -> None:
    """The draft's introduction: ages 10-80 in two ranges (5 and 45 people) and a mask at 45 (10 young, 40 old)."""
    ages = np.arange(10, 81)
    ranges = Constraint(name="ranges", codes=(ages > 16).astype(int), targets=np.array([5, 45]))
    mask = Constraint(name="mask", codes=(ages > 45).astype(int), targets=np.array([[8, 2], [10, 30]]))
    counts = fit([ranges, mask]).counts
    assert counts[ages <= 16].sum() == pytest.approx(5)
    assert counts[(ages > 16) & (ages <= 45)].sum() == pytest.approx(5)
    np.testing.assert_allclose(counts[ages > 45].sum(axis=0), [10, 30])
    assert all(np.allclose(one, other) for one, other in pairwise(counts[ages <= 16]))


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (
            [Constraint.histogram(np.array([3, 4])), Constraint.label(np.array([5, 5]), values=2)],
            r"histogram and label contradict each other by 3 records \(7 records in all against 10\)",
        ),
        (
            [
                Constraint.histogram(np.array([3, 4, 3])),
                Constraint(name="mask 3", codes=np.array([0, 0, 1]), targets=np.array([[4, 2], [2, 2]])),
            ],
            "histogram and mask 3 contradict each other by 1 records in one of 2 places",
        ),
        (
            [
                Constraint(name="mask 1", codes=np.array([0, 1, 1]), targets=np.array([[4, 2], [2, 2]])),
                Constraint(name="mask 2", codes=np.array([0, 1, 1]), targets=np.array([[3, 3], [3, 1]])),
            ],
            "mask 1 and mask 2 contradict each other by 1 records",
        ),
    ],
)
def test_two_constraints_that_contradict_are_named(constraints: list[Constraint], message: str) -> None:
    with pytest.raises(SummaryError, match=message):
        fit(constraints)


def test_constraints_that_contradict_only_together_are_found() -> None:
    """Any two of these three crossing partitions agree; all three ask for a negative count."""
    one = Constraint(name="mask 1", codes=np.array([0, 0, 1]), targets=np.array([[1], [9]]))
    two = Constraint(name="mask 2", codes=np.array([0, 1, 1]), targets=np.array([[5], [5]]))
    with pytest.raises(SummaryError, match=r"no joint satisfies all constraints: at least \d"):
        fit([one, two])
    check_consistent([one, two])  # both hold ten records, which is all that the two can say of each other


@given(problem=problems(), extra=st.integers(1, 5))
@laws
def test_no_contradiction_passes_silently_and_no_value_is_shown(
    problem: tuple[Ints, list[Constraint]], extra: int
) -> None:
    counts, constraints = problem
    wrong = counts.copy()
    wrong[0, 0] += extra
    codes = np.zeros(len(counts), dtype=np.int64)
    with pytest.raises(SummaryError) as caught:
        fit([*constraints, grouped(wrong, codes, by_label=True, name="label")])
    assert re.search(rf"by {extra} records", str(caught.value))


def test_both_stopping_rules() -> None:
    five = Constraint(name="mask 1", codes=np.array([0, 1, 1]), targets=np.array([[5.0], [3.0]]))
    same = Constraint(name="mask 2", codes=np.array([0, 0, 1]), targets=np.array([[5.0], [3.0]]))
    few = fit([five, same], stopping=Stopping(max_iterations=7), require_convergence=False)
    assert few.diagnosis.iterations == 7
    assert not few.diagnosis.converged
    with pytest.raises(NotConvergedError, match="after 7 sweeps"):
        fit([five, same], stopping=Stopping(max_iterations=7))
    loose = fit([five, same], stopping=Stopping(largest_change=0.05), require_convergence=False)
    assert 7 < loose.diagnosis.iterations < 50
    assert loose.diagnosis.largest_change <= 0.05
    assert not loose.diagnosis.converged  # it stopped by its rule, but the sums are still off: that is said
    with pytest.raises(SummaryError, match="positive tolerances"):
        Stopping(max_iterations=0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Constraint(name="mask", codes=np.array([0.5]), targets=np.array([1])), "whole group number"),
        (lambda: Constraint(name="mask", codes=np.array([0, 2]), targets=np.array([1, 1])), "gives no total for"),
        (lambda: Constraint(name="mask", codes=np.array([0, 0]), targets=np.array([1, 3])), "counts 3 records"),
        (lambda: Constraint(name="mask", codes=np.array([0]), targets=np.array([-1])), "negative"),
        (lambda: Constraint(name="mask", codes=np.array([0]), targets=np.array([np.nan])), "not finite"),
        (lambda: fit([]), "at least one histogram"),
        (lambda: fit([Constraint.histogram(np.array([1, 2]))]), "how the label is distributed"),
        (
            lambda: fit([Constraint.joint(np.ones((2, 2))), Constraint.joint(np.ones((3, 2)))]),
            "must describe the same column",
        ),
        (
            lambda: fit([Constraint.joint(np.ones((2, 2))), Constraint.joint(np.ones((2, 3)))]),
            "must describe the same label",
        ),
        (lambda: fit([Constraint.joint(np.ones((2, 2)))], start=-np.ones((2, 2))), "zero or more"),
    ],
)
def test_malformed_input_gets_one_sentence(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(SummaryError, match=message):
        make()


def test_reprs_hold_no_counts() -> None:
    constraint = Constraint.histogram(np.array([987654, 123456]))
    assert "987654" not in repr(constraint)
    found = fit([constraint, Constraint.label(np.array([987654, 123456]), values=2)])
    assert "987654" not in repr(found)
    assert len(atoms([constraint]).sizes) == 1
