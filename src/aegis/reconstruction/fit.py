"""What every reconstruction returns: the counts, and how far to trust them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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

    counts: NDArray[np.float64]
    diagnosis: Diagnosis

    def __repr__(self) -> str:
        values, labels = self.counts.shape
        return f"Fit({values} values × {labels} labels, {self.diagnosis})"
