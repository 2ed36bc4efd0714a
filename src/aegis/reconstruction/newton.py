"""Newton steps on the dual of the maximum-entropy problem, for fits that proportional scaling alone approaches slowly.

Scaling is coordinate descent on a smooth convex function of one multiplier per target; near the solution Newton's
method doubles the digits where scaling gains a few per cent. The steps keep the form ``start × exp(multipliers)``, so
the limit is the same joint.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, cg

Real = NDArray[np.float64]


def newton_step(cells: Real, A: csr_array, b: Real) -> Real:
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
        moved: Real = cells * np.exp(length * direction)
        if float(moved.sum()) - length * gain <= before - 1e-4 * length * fall + 1e-12 * before:
            return moved
        length /= 2.0
    return cells


def _solve(A: csr_array, cells: Real, gap: Real) -> Real:
    """Conjugate gradients on the normal equations, which are singular (targets repeat each other) but consistent."""
    size = A.shape[0]
    diagonal = A @ cells
    safe = np.where(diagonal > 0, diagonal, 1.0)
    normal = LinearOperator((size, size), matvec=lambda v: A @ (cells * (A.T @ v)), dtype=np.float64)
    scaled = LinearOperator((size, size), matvec=lambda v: v / safe, dtype=np.float64)
    solution, _ = cg(normal, gap, rtol=1e-8, atol=1e-14 * float(cells.sum()), maxiter=500, M=scaled)
    return np.asarray(solution)
