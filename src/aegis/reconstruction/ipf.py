"""Iterative proportional fitting: the joint of maximum entropy, relative to a start, that satisfies every constraint.

Each sweep visits the constraints in turn and multiplies the cells of each group by target over sum. The limit, where
there is one, does not depend on the order of the constraints. Zero cells of the start stay zero.

Sweeps that still move after `SWEEPS_BEFORE_HELP` get two kinds of help that leave the limit as it is: cells that the
constraints together leave no room in are set to zero, and Newton steps on the dual come between the sweeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, cg

from aegis.arrays import Floats, Ints
from aegis.counts.joint import divisor
from aegis.errors import NotConvergedError, SummaryError
from aegis.reconstruction.constraint import Constraint, check_consistent, equations, possible_cells, shape_of

SWEEPS_BEFORE_HELP = 50
_STANDSTILL = 1e-8


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """How an iteration ended.

    ``residual_records`` is the largest difference between a constraint and its sum; ``largest_change`` the largest
    proportional change of a cell in the last sweep; ``cells_forced_to_zero`` how many cells the constraints together
    leave no room in although none says so alone.
    """

    iterations: int
    residual_records: float
    largest_change: float
    converged: bool
    cells_forced_to_zero: int = 0


SOLVED_DIRECTLY = Diagnosis(iterations=0, residual_records=0.0, largest_change=0.0, converged=True)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """A reconstructed joint, values down and labels across; counts are real numbers unless rounded."""

    counts: Floats
    diagnosis: Diagnosis

    def __repr__(self) -> str:
        values, labels = self.counts.shape
        return f"Fit({values} values × {labels} labels, {self.diagnosis})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopping:
    """When to stop: the two rules of the paper, and what counts as satisfied.

    ``largest_change`` is the largest proportional change of a cell in one sweep. A fit has converged when that rule
    stopped it and every sum is within ``tolerance_records`` of its target (plus a billionth of the table).
    """

    max_iterations: int = 1000
    largest_change: float = 1e-10
    tolerance_records: float = 1e-6

    def __post_init__(self) -> None:
        if self.max_iterations < 1 or self.largest_change <= 0 or self.tolerance_records <= 0:
            raise SummaryError("a fit needs at least one iteration and positive tolerances")


STOPPING = Stopping()


def fit(
    constraints: Sequence[Constraint],
    *,
    labels: int | None = None,
    start: Floats | None = None,
    stopping: Stopping = STOPPING,
    plain: bool = False,
    require_convergence: bool = True,
) -> Fit:
    """Fit a joint to ``constraints`` from ``start`` (uniform unless given; its zeros are structural).

    ``plain=True`` makes bare sweeps only, as in the paper. Constraints that no joint satisfies raise a SummaryError.
    A fit that has not converged raises a NotConvergedError unless ``require_convergence=False``.

    >>> age = Constraint.histogram(np.array([4, 12, 4]))
    >>> young_old = Constraint(name="mask 1", codes=np.array([0, 0, 1]), targets=np.array([[6, 10], [4, 0]]))
    >>> fit([age, young_old]).counts.tolist()
    [[1.5, 2.5], [4.5, 7.5], [4.0, 0.0]]
    """
    shape = shape_of(constraints, labels=labels)
    check_consistent(constraints, tolerance_records=stopping.tolerance_records)
    if start is not None:
        fitted = _fit(constraints, _checked_start(start, shape), stopping, plain)
    else:
        grouped = atoms(constraints)
        uniform = np.repeat(grouped.sizes[:, None], shape[1], axis=1) * grouped.constraints[0].total / np.prod(shape)
        fitted = _fit(grouped.constraints, uniform, stopping, plain)
        fitted = Fit(counts=grouped.spread(fitted.counts), diagnosis=fitted.diagnosis)
    if require_convergence and not fitted.diagnosis.converged:
        raise NotConvergedError(
            f"the fit stopped after {fitted.diagnosis.iterations} sweeps with a largest change of "
            f"{fitted.diagnosis.largest_change:.1e} and sums off by up to {fitted.diagnosis.residual_records:.2g} "
            "records; allow more iterations or a larger change"
        )
    return fitted


def _fit(constraints: Sequence[Constraint], begin: Floats, stopping: Stopping, plain: bool) -> Fit:
    allowed = stopping.tolerance_records + 1e-9 * max(constraint.total for constraint in constraints)
    members = [constraint.membership for constraint in constraints]
    counts, change, sweeps, forced = begin.copy(), np.inf, 0, 0
    system: tuple[csr_array, Floats] | None = None
    alive = np.ones(begin.shape, dtype=bool)
    while sweeps < stopping.max_iterations:
        if sweeps == SWEEPS_BEFORE_HELP and not plain:
            possible = possible_cells(constraints, begin > 0)
            if possible is not None:
                forced = int(((begin > 0) & (counts > 0) & ~possible).sum())
                counts[~possible] = 0.0
            alive = counts > 0
            A, b = equations(constraints, begin.shape[1])
            system = (A[:, np.flatnonzero(alive)], b)
        if system is not None:
            counts[alive] = newton_step(counts[alive], *system)
        counts, change = _sweep(counts, constraints, members)
        sweeps += 1
        if change <= stopping.largest_change:
            break
    residual, worst = _residual(counts, constraints)
    settled = change <= stopping.largest_change
    # Sums that stay off are a contradiction, or an early stop by a loose rule: a linear program can tell.
    if settled and residual > allowed and possible_cells(constraints, begin > 0) is None and change <= _STANDSTILL:
        raise SummaryError(
            f"no joint satisfies all constraints: the fit settled with {worst} off by {residual:.3g} records; "
            "the counts cannot come from the same table"
        )
    diagnosis = Diagnosis(
        iterations=sweeps,
        residual_records=residual,
        largest_change=change,
        converged=settled and residual <= allowed,
        cells_forced_to_zero=forced,
    )
    return Fit(counts=counts, diagnosis=diagnosis)


def _checked_start(start: Floats, shape: tuple[int, int]) -> Floats:
    start = np.array(start, dtype=np.float64)
    if start.shape != shape or not np.isfinite(start).all() or (start < 0).any():
        raise SummaryError(f"the start of a fit must hold {shape[0]} × {shape[1]} finite counts that are zero or more")
    return start


def _sweep(counts: Floats, constraints: Sequence[Constraint], members: Sequence[csr_array]) -> tuple[Floats, float]:
    """Satisfy each constraint in turn; the counts and the largest proportional change of a cell."""
    before = counts
    for constraint, member in zip(constraints, members, strict=True):
        sums = member @ counts if constraint.by_label else member @ counts.sum(axis=1)
        occurring = sums > 0
        if constraint.targets[~occurring].any():
            missing = float(constraint.targets[~occurring].sum())
            raise SummaryError(
                f"{constraint.name} counts {missing:g} records where the other constraints or the start leave "
                "only zero cells; they cannot come from the same table"
            )
        factors = np.where(occurring, constraint.targets / np.where(occurring, sums, 1.0), 0.0)
        counts = counts * (factors[constraint.codes] if constraint.by_label else factors[constraint.codes, None])
    # A cell that became zero is settled: it cannot change again.
    moved = np.abs(counts - before) / divisor(before)
    return counts, float(moved[counts > 0].max(initial=0.0))


def _residual(counts: Floats, constraints: Sequence[Constraint]) -> tuple[float, str]:
    worst = [(float(np.abs(constraint.difference(counts)).max()), constraint.name) for constraint in constraints]
    return max(worst)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Atoms:
    """Constraints on atoms instead of values, and the way back."""

    constraints: tuple[Constraint, ...]
    sizes: Floats
    codes: Ints
    weights: Floats

    def spread(self, counts: Floats) -> Floats:
        """Counts of atoms given to their values."""
        return self.weights[:, None] * counts[self.codes]


def atoms(constraints: Sequence[Constraint]) -> Atoms:
    """Merge the values that all constraints but the histogram put together."""
    values = len(constraints[0].codes)
    histograms = [c for c in constraints if not c.by_label and np.array_equal(c.codes, np.arange(values))]
    others = [c for c in constraints if not any(c is histogram for histogram in histograms)]
    if not others:
        codes = np.zeros(values, dtype=np.int64)
    else:
        _, codes = np.unique(np.stack([c.codes for c in others]), axis=1, return_inverse=True)
        codes = codes.reshape(-1)
    count = int(codes.max()) + 1
    first = np.zeros(count, dtype=np.int64)
    first[codes] = np.arange(values)
    merged = [replace(c, codes=c.codes[first]) for c in others]
    sizes = np.bincount(codes).astype(np.float64)
    within: Floats = np.ones(values)
    for histogram in histograms:
        within = histogram.targets
        totals = np.bincount(codes, weights=within).astype(np.float64)
        merged.insert(0, replace(histogram, codes=np.arange(count), targets=totals))
    per_atom = np.bincount(codes, weights=within)[codes]
    # An atom without records has none to share; equal shares of nothing keep the shape.
    weights = np.where(per_atom > 0, within / divisor(per_atom), 1.0 / sizes[codes])
    return Atoms(constraints=tuple(merged), sizes=sizes, codes=codes, weights=weights)


def newton_step(cells: Floats, A: csr_array, b: Floats) -> Floats:
    """One damped step from ``cells`` (all positive) towards ``A @ cells == b``.

    >>> A = csr_array(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]))
    >>> cells = np.ones(3)
    >>> for _ in range(6):
    ...     cells = newton_step(cells, A, np.array([3.0, 5.0]))
    >>> (A @ cells).round(9).tolist()
    [3.0, 5.0]
    """
    gap = b - A @ cells
    multipliers = _solve(A, cells, gap)
    direction = A.T @ multipliers
    fall = float(gap @ multipliers)  # minus the slope of the dual objective along the direction
    gain = float(b @ multipliers)
    before = float(cells.sum())
    length = min(1.0, 5.0 / max(float(np.abs(direction).max()), 1e-300))  # no cell moves by more than e⁵ at once
    for _ in range(30):
        moved: Floats = cells * np.exp(length * direction)
        if float(moved.sum()) - length * gain <= before - 1e-4 * length * fall + 1e-12 * before:
            return moved
        length /= 2.0
    return cells


def _solve(A: csr_array, cells: Floats, gap: Floats) -> Floats:
    """Conjugate gradients on the normal equations, which are singular (targets repeat each other) but consistent."""
    size = A.shape[0]
    diagonal = A @ cells
    safe = divisor(diagonal)
    normal = LinearOperator((size, size), matvec=lambda v: A @ (cells * (A.T @ v)), dtype=np.float64)
    scaled = LinearOperator((size, size), matvec=lambda v: v / safe, dtype=np.float64)
    solution, _ = cg(normal, gap, rtol=1e-8, atol=1e-14 * float(cells.sum()), maxiter=500, M=scaled)
    return np.asarray(solution)
