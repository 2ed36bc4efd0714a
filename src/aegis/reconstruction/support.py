"""Which cells of a joint can be more than zero at all, given constraints that each may look harmless.

Two crossing groups may leave no room for a cell although no target is zero: with 5 records in {a} and 5 in {a, b},
there is none in b. Proportional fitting approaches such a zero ever more slowly; one linear program finds them all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_array, csr_array, eye_array, hstack, vstack

from aegis.errors import SummaryError
from aegis.reconstruction.constraint import Constraint

CELLS_FOR_A_LINEAR_PROGRAM = 20_000


def equations(constraints: Sequence[Constraint], labels: int) -> tuple[csr_array, NDArray[np.float64]]:
    """All constraints as one system over the cells, values major and labels minor."""
    blocks, targets = [], []
    for constraint in constraints:
        values = len(constraint.codes)
        if constraint.by_label:
            rows = constraint.codes[:, None] * labels + np.arange(labels)
        else:
            rows = np.repeat(constraint.codes[:, None], labels, axis=1)
        height = constraint.targets.size
        ones = np.ones(values * labels)
        blocks.append(csr_array((ones, (rows.ravel(), np.arange(values * labels))), shape=(height, values * labels)))
        targets.append(constraint.targets.ravel())
    return csr_array(vstack(blocks)), np.concatenate(targets)


def possible_cells(constraints: Sequence[Constraint], allowed: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    """Where a joint that satisfies every constraint, zero outside ``allowed``, can have records.

    None where the table is too large to ask. Raises where no joint satisfies them all, with the smallest number of
    records that would have to be ignored.
    """
    from scipy.optimize import linprog  # takes long to import, and few fits need it

    if allowed.size > CELLS_FOR_A_LINEAR_PROGRAM:
        return None
    A, b = equations(constraints, allowed.shape[1])
    cells = allowed.size
    # Scale the joint up until each cell that can be positive reaches 1: the cells that stay below are forced to zero.
    scaled = hstack([A, csr_array(A.shape), csr_array(-b[:, None])])
    eye = eye_array(cells)
    reached = block_array([[-eye, eye, csr_array((cells, 1))]])
    open_cells = allowed.ravel().astype(np.float64)
    upper = np.concatenate([np.where(open_cells > 0, np.inf, 0.0), open_cells, [np.inf]])
    lower = np.concatenate([np.zeros(2 * cells), [1.0]])
    solved = linprog(
        np.concatenate([np.zeros(cells), -np.ones(cells), [0.0]]),
        A_ub=reached,
        b_ub=np.zeros(cells),
        A_eq=scaled,
        b_eq=np.zeros(len(b)),
        bounds=np.column_stack([lower, upper]),
        method="highs",
    )
    if solved.status == 2:
        raise SummaryError(_infeasible(constraints, A, b, open_cells))
    if solved.status != 0:
        return None
    return np.asarray(solved.x[cells : 2 * cells] > 0.5).reshape(allowed.shape)


def _infeasible(
    constraints: Sequence[Constraint], A: csr_array, b: NDArray[np.float64], open_cells: NDArray[np.float64]
) -> str:
    """Say how many records have to be ignored at least, and in which constraint most of them lie."""
    from scipy.optimize import linprog  # as above

    eye = eye_array(len(b))
    cost = np.concatenate([np.zeros(A.shape[1]), np.ones(2 * len(b))])
    upper = np.concatenate([np.where(open_cells > 0, np.inf, 0.0), np.full(2 * len(b), np.inf)])
    solved = linprog(
        cost, A_eq=hstack([A, eye, -eye]), b_eq=b, bounds=np.column_stack([np.zeros(len(cost)), upper]), method="highs"
    )
    slack = solved.x[A.shape[1] :].reshape(2, -1).sum(axis=0)
    ends = np.cumsum([constraint.targets.size for constraint in constraints])
    by_constraint = [part.sum() for part in np.split(slack, ends[:-1])]
    worst = constraints[int(np.argmax(by_constraint))].name
    return (
        f"no joint satisfies all constraints: at least {slack.sum():.3g} records would have to be ignored, "
        f"most of them in {worst}; the counts cannot come from the same table"
    )
