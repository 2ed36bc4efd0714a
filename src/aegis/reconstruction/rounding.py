"""From fractional counts to whole ones.

Rounding adds information that is not there: a row that is a fraction of a record in each label becomes a record in
one. A reference that is compared with a masked joint should stay fractional; these are for tables people read, and for
fidelity to the paper.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, kron, vstack

from aegis.errors import SummaryError

Real = NDArray[np.float64]
Whole = NDArray[np.int64]

_CLOSE = 1e-9
CELLS_FOR_CONTROLLED_ROUNDING = 20_000


def randomised(counts: Real, *, rng: np.random.Generator) -> Whole:
    """The paper's rounding: each cell goes up with the probability of its fraction, on its own. The total moves."""
    floor, fraction = _parts(counts)
    return floor + (rng.random(counts.shape) < fraction)


def systematic(counts: Real, *, rng: np.random.Generator) -> Whole:
    """Unbiased rounding that keeps the total, and each row's sum within one record.

    One random number decides: the running total of the cells goes up by a record wherever it passes that offset. A
    total that is not whole goes up with the probability of its fraction.

    >>> systematic(np.full((2, 4), 0.5), rng=np.random.default_rng(0)).sum(axis=1).tolist()
    [2, 2]
    """
    floor, fraction = _parts(counts)
    ladder = np.cumsum(fraction.ravel())
    whole = np.rint(ladder)
    ladder = np.where(np.abs(ladder - whole) < 1e-7, whole, ladder)  # a sum of thirds is a whole number
    steps = np.floor(ladder + rng.random())
    return floor + np.diff(steps, prepend=0.0).astype(np.int64).reshape(counts.shape)


def controlled(counts: Real, *, rng: np.random.Generator) -> Whole:
    """Rounding that keeps every row sum, every column sum and the total within one record (exactly, where whole).

    The feasible roundings are the corners of a polytope with whole corners; a random direction picks one of them.
    """
    from scipy.optimize import linprog  # takes long to import, and few roundings need it

    floor, fraction = _parts(counts)
    if counts.size > CELLS_FOR_CONTROLLED_ROUNDING:
        raise SummaryError(
            f"controlled rounding is for up to {CELLS_FOR_CONTROLLED_ROUNDING} cells; use systematic rounding"
        )
    rows, columns = counts.shape
    sums = vstack(
        [
            kron(csr_array(np.eye(rows)), np.ones((1, columns))),
            kron(np.ones((1, rows)), csr_array(np.eye(columns))),
            csr_array(np.ones((1, counts.size))),
        ]
    )
    target = sums @ fraction.ravel()
    low, high = np.floor(target + 1e-7), np.ceil(target - 1e-7)
    # Cells that are whole stay; the direction prefers cells by their fraction, with noise, so that all can be drawn.
    wish = rng.random(counts.size) - fraction.ravel()
    solved = linprog(
        wish,
        A_ub=vstack([sums, -sums]),
        b_ub=np.concatenate([high, -low]),
        bounds=np.column_stack([np.zeros(counts.size), np.where(fraction.ravel() > 0, 1.0, 0.0)]),
        method="highs-ds",  # the simplex method ends in a corner
    )
    assert solved.status == 0, "a controlled rounding of a two-way table always exists"
    return floor + np.rint(solved.x).astype(np.int64).reshape(counts.shape)


def _parts(counts: Real) -> tuple[Whole, Real]:
    """Whole part and fraction; what is whole up to rounding noise counts as whole."""
    near = np.rint(counts)
    counts = np.where(np.abs(counts - near) < _CLOSE, near, counts)
    floor = np.floor(counts)
    return floor.astype(np.int64), counts - floor
