"""The paper's optimisation problem, checked against what only the optimum satisfies."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog

from aegis.errors import SummaryError
from aegis.reconstruction.constraint import Constraint, equations
from aegis.reconstruction.ipf import fit
from aegis.reconstruction.nearest_to_uniform import Norm, nearest_to_uniform

Ints = NDArray[np.int64]
laws = settings(max_examples=40, deadline=None)


@st.composite
def problems(draw: st.DrawFn, *, values: int = 6, largest: int = 9) -> list[Constraint]:
    rows, labels = draw(st.integers(2, values)), draw(st.integers(1, 3))
    cells = draw(st.lists(st.integers(0, largest), min_size=rows * labels, max_size=rows * labels))
    counts = np.array(cells, dtype=np.int64).reshape(rows, labels)
    # Sparse tables leave the feasible set without an inside: the hard case for a projection.
    keep = draw(st.lists(st.booleans(), min_size=rows * labels, max_size=rows * labels))
    counts *= np.array(keep).reshape(rows, labels)
    counts[0, 0] += 1
    codes = np.unique(draw(st.lists(st.integers(0, 1), min_size=rows, max_size=rows)), return_inverse=True)[1]
    masked = np.zeros((codes.max() + 1, labels), dtype=np.int64)
    np.add.at(masked, codes, counts)
    return [Constraint.histogram(counts.sum(axis=1)), Constraint(name="mask", codes=codes, targets=masked)]


@given(constraints=problems())
@laws
def test_the_relaxed_l2_solution_is_the_projection(constraints: list[Constraint]) -> None:
    """No feasible joint lies further in the direction from the solution to the uniform joint."""
    found = nearest_to_uniform(constraints, norm="l2")
    labels = found.counts.shape[1]
    for constraint in constraints:
        np.testing.assert_allclose(constraint.difference(found.counts), 0.0, atol=1e-6)
    A, b = equations(constraints, labels)
    x = found.counts.ravel()
    towards = b[: len(found.counts)].sum() / x.size - x
    furthest = linprog(-towards, A_eq=A, b_eq=b, bounds=(0, None), method="highs")
    assert -furthest.fun <= towards @ x + 1e-5


@given(constraints=problems(values=3, largest=3), norm=st.sampled_from(list(Norm)))
@laws
def test_whole_solutions_equal_enumeration(constraints: list[Constraint], norm: Norm) -> None:
    found = nearest_to_uniform(constraints, norm=norm, whole=True)
    A, b = equations(constraints, found.counts.shape[1])
    dense = A.toarray()
    most = [int(min(b[dense[:, cell] > 0])) for cell in range(dense.shape[1])]
    if np.prod([m + 1 for m in most]) > 100_000:
        return
    every = np.array(list(product(*[range(m + 1) for m in most])), dtype=np.float64)
    every = every[(every @ dense.T == b).all(axis=1)]
    order = {Norm.L1: 1, Norm.L2: 2, Norm.LARGEST: np.inf}[norm]
    uniform = constraints[0].total / dense.shape[1]
    best = np.linalg.norm(every - uniform, ord=order, axis=1).min()
    assert found.distance_records == pytest.approx(best, abs=1e-6)
    assert (dense @ found.counts.ravel() == b).all()


@given(constraints=problems(), norm=st.sampled_from(list(Norm)))
@laws
def test_relaxing_never_costs_and_no_fit_is_nearer(constraints: list[Constraint], norm: Norm) -> None:
    relaxed = nearest_to_uniform(constraints, norm=norm)
    whole = nearest_to_uniform(constraints, norm=norm, whole=True)
    fitted = fit(constraints).counts
    order = {Norm.L1: 1, Norm.L2: 2, Norm.LARGEST: np.inf}[norm]
    of_fit = np.linalg.norm((fitted - constraints[0].total / fitted.size).ravel(), ord=order)
    assert relaxed.distance_records <= whole.distance_records + 1e-6
    assert relaxed.distance_records <= of_fit + 1e-6


@pytest.mark.parametrize(
    ("counts", "codes"),
    [
        ([[5, 0, 1], [0, 1, 0], [0, 0, 0], [8, 7, 0]], [1, 0, 0, 0]),
        ([[1, 0], [8, 0], [4, 0]], [1, 1, 0]),
        ([[1, 5, 0], [0, 9, 1], [0, 0, 1], [0, 0, 0], [2, 0, 0]], [0, 0, 0, 1, 0]),
        ([[5, 0], [0, 0], [0, 0]], [1, 1, 0]),
    ],
)
def test_cells_that_must_be_zero_do_not_upset_the_projection(counts: list[list[int]], codes: list[int]) -> None:
    table = np.array(counts)
    masked = np.zeros((2, table.shape[1]))
    np.add.at(masked, codes, table)
    constraints = [
        Constraint.histogram(table.sum(axis=1)),
        Constraint(name="mask", codes=np.array(codes), targets=masked),
    ]
    found = nearest_to_uniform(constraints, norm="l2")
    whole = nearest_to_uniform(constraints, norm="l2", whole=True)
    for constraint in constraints:
        np.testing.assert_allclose(constraint.difference(found.counts), 0.0, atol=1e-6)
    assert found.distance_records <= whole.distance_records + 1e-6


def test_limits_and_contradictions_are_said() -> None:
    with pytest.raises(SummaryError, match="up to 600 cells"):
        nearest_to_uniform([Constraint.joint(np.ones((700, 1)))])
    halves = Constraint(name="mask", codes=np.array([0, 0]), targets=np.array([[2.5, 1.0]]))
    with pytest.raises(SummaryError, match="whole totals"):
        nearest_to_uniform([halves], whole=True)
    with pytest.raises(SummaryError, match="no norm called 'l3'"):
        nearest_to_uniform([halves], norm="l3")
    with pytest.raises(SummaryError, match="up to 60000 records"):
        nearest_to_uniform([Constraint.joint(np.full((2, 2), 100_000))], whole=True)
    one = Constraint(name="mask 1", codes=np.array([0, 0, 1]), targets=np.array([[1], [9]]))
    two = Constraint(name="mask 2", codes=np.array([0, 1, 1]), targets=np.array([[5], [5]]))
    for norm in Norm:
        with pytest.raises(SummaryError, match="no joint"):
            nearest_to_uniform([one, two], norm=norm)
