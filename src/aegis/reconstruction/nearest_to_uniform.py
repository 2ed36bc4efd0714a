"""The paper's optimisation problem itself: the joint nearest to the uniform one that satisfies the constraints.

Nearest in the sum of absolute differences (l1), of squares (l2) or in the largest difference (l∞), over real or whole
counts. This is not what proportional fitting minimises (that is relative entropy); it is here to show the difference,
and is exact, so it is for small tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space
from scipy.optimize import Bounds, LinearConstraint, linprog, milp, nnls
from scipy.sparse import block_array, csr_array, eye_array, hstack

from aegis.arrays import Floats
from aegis.errors import NotConvergedError, SummaryError
from aegis.reconstruction.constraint import Constraint, check_consistent, equations, possible_cells, shape_of

CELLS = 600
SEGMENTS = 60_000
SECONDS = 60.0


class Norm(StrEnum):
    """How the distance from the uniform joint is measured."""

    L1 = "l1"
    L2 = "l2"
    LARGEST = "linf"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Nearest:
    """The solution; ``distance_records`` is the norm of its difference from the uniform joint."""

    counts: Floats
    norm: Norm
    whole: bool
    distance_records: float


def nearest_to_uniform(
    constraints: Sequence[Constraint], *, norm: Norm | str = Norm.L2, whole: bool = False
) -> Nearest:
    """Solve the paper's problem exactly; ``whole=True`` asks for whole counts.

    >>> halves = Constraint(name="mask 1", codes=np.array([0, 0, 1]), targets=np.array([[6, 10], [4, 0]]))
    >>> nearest_to_uniform([halves]).counts.round(9).tolist()
    [[3.0, 5.0], [3.0, 5.0], [4.0, 0.0]]
    """
    if norm not in set(Norm):
        raise SummaryError(f"there is no norm called {norm!r} (known: {', '.join(Norm)})")
    norm = Norm(norm)
    shape = shape_of(constraints)
    if np.prod(shape) > CELLS:
        raise SummaryError(
            f"the exact problem is for up to {CELLS} cells and this one has {np.prod(shape)}; use proportional fitting"
        )
    check_consistent(constraints)
    A, b = equations(constraints, shape[1])
    if whole and not np.allclose(b, np.rint(b)):
        raise SummaryError("whole counts can only satisfy whole totals; solve the relaxed problem or round the totals")
    uniform = constraints[0].total / A.shape[1]
    if norm is Norm.L2 and not whole:
        cells = _nearest_l2(constraints, A.toarray(), b, uniform, shape)
    elif norm is Norm.L2:
        cells = _nearest_l2_whole(A, b, uniform)
    else:
        cells = _nearest_linear(A, b, uniform, norm, whole)
    counts = np.rint(cells) if whole else np.maximum(cells, 0.0)
    order = {Norm.L1: 1, Norm.L2: 2, Norm.LARGEST: np.inf}[norm]
    distance = float(np.linalg.norm(counts - uniform, ord=order))
    return Nearest(counts=counts.reshape(shape), norm=norm, whole=whole, distance_records=distance)


def _nearest_linear(A: csr_array, b: Floats, uniform: float, norm: Norm, whole: bool) -> Floats:
    """Minimise t, or the sum of t, with -t ≤ cell - uniform ≤ t."""
    cells = A.shape[1]
    bounds_on = eye_array(cells)
    distance = eye_array(cells) if norm is Norm.L1 else csr_array(np.ones((cells, 1)))
    extra = distance.shape[1]
    between = block_array([[bounds_on, -distance], [-bounds_on, -distance]])
    right = np.concatenate([np.full(cells, uniform), np.full(cells, -uniform)])
    cost = np.concatenate([np.zeros(cells), np.ones(extra)])
    kinds = np.concatenate([np.full(cells, int(whole)), np.zeros(extra)])
    limits = [LinearConstraint(hstack([A, csr_array((len(b), extra))]), b, b), LinearConstraint(between, ub=right)]
    return _solved(cost, limits, Bounds(0.0, np.inf), kinds)[:cells]


def _nearest_l2_whole(A: csr_array, b: Floats, uniform: float) -> Floats:
    """A square is straight between whole numbers for our purpose: one segment per record, dearer and dearer."""
    most = np.full(A.shape[1], np.inf)
    for row, target in zip(A.toarray() > 0, b, strict=True):
        most[row] = np.minimum(most[row], target)
    most = np.where(np.isfinite(most), most, b.max()).astype(np.int64)
    if most.sum() > SEGMENTS:
        raise SummaryError(
            f"the whole l2 problem is for up to {SEGMENTS} records over all cells' room and this one has {most.sum()}; "
            "use another norm or the relaxed problem"
        )
    cell = np.repeat(np.arange(len(most)), most)
    step = np.arange(len(cell)) - np.repeat(np.cumsum(most) - most, most)
    cost = 2.0 * (step - uniform) + 1.0  # (k + 1 - u)² - (k - u)²
    to_cell = csr_array((np.ones(len(cell)), (cell, np.arange(len(cell)))), shape=(len(most), len(cell)))
    eye = eye_array(len(most))
    limits = [
        LinearConstraint(hstack([A, csr_array((len(b), len(cell)))]), b, b),
        LinearConstraint(hstack([eye, -to_cell]), 0.0, 0.0),
    ]
    costs = np.concatenate([np.zeros(len(most)), cost])
    kinds = np.concatenate([np.ones(len(most)), np.zeros(len(cell))])
    upper = np.concatenate([most.astype(np.float64), np.ones(len(cell))])
    return _solved(costs, limits, Bounds(0.0, upper), kinds)[: len(most)]


def _nearest_l2(
    constraints: Sequence[Constraint], A: Floats, b: Floats, uniform: float, shape: tuple[int, int]
) -> Floats:
    """Project onto {A x = b, x ≥ 0}: first onto the plane, then a least-distance problem in it, by its NNLS dual.

    Cells that must be zero are taken out first: with them the feasible set has no inside, and the dual no scale.
    """
    possible = possible_cells(constraints, np.ones(shape, dtype=bool))
    if possible is None:
        raise NotConvergedError("the solver could not tell which cells have room; use proportional fitting")
    open_cells = possible.ravel()
    cells = np.zeros(A.shape[1])
    cells[open_cells] = _projected(A[:, open_cells], b, uniform)
    # The promise is an exact solution, so it is checked: the sums hold, and no feasible joint lies nearer.
    towards = uniform - cells
    furthest = linprog(-towards, A_eq=A, b_eq=b, bounds=(0, None), method="highs")
    scale = max(1.0, float(b.max()))
    off = float(np.abs(A @ cells - b).max())
    if off > 1e-6 * scale or cells.min() < -1e-6 * scale or -furthest.fun > towards @ cells + 1e-5 * scale**2:
        raise NotConvergedError("the nearest joint was not found to full precision; use proportional fitting")
    return cells


def _projected(A: Floats, b: Floats, uniform: float) -> Floats:
    start = np.full(A.shape[1], uniform)
    plane: Floats = start + np.linalg.lstsq(A, b - A @ start, rcond=None)[0]
    Z = null_space(A)
    if (plane >= 0).all() or not Z.shape[1]:
        return plane
    dual = np.vstack([Z.T, -plane[None, :] / uniform])
    goal = np.zeros(len(dual))
    goal[-1] = 1.0
    weights, _ = nnls(dual, goal, maxiter=50 * len(plane))
    left = dual @ weights - goal
    moved: Floats = plane + Z @ (-left[:-1] / left[-1]) * uniform
    return moved


def _solved(cost: Floats, limits: list[LinearConstraint], bounds: Bounds, kinds: NDArray[np.generic]) -> Floats:
    solved = milp(cost, constraints=limits, bounds=bounds, integrality=kinds, options={"time_limit": SECONDS})
    if solved.status == 2:
        raise SummaryError("no joint satisfies all constraints; they cannot come from one table")
    if solved.status != 0 or solved.x is None:
        raise NotConvergedError(f"the solver found no proven optimum in {SECONDS:g} s; relax the problem")
    return np.asarray(solved.x)
