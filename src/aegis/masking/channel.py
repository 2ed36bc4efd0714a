"""A random mask on a domain: the probability of each masked value given the true one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.data.domain import Domain


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Channel:
    """``matrix[a, b]`` is P(masked = b | value = a); rows sum to one."""

    matrix: NDArray[np.float64]
    target: Domain

    def __post_init__(self) -> None:
        if self.matrix.shape[1] != self.target.size or (self.matrix < 0).any():
            raise ValueError("a channel holds one non-negative probability per masked value")
        if not np.allclose(self.matrix.sum(axis=1), 1.0, atol=1e-9):
            raise ValueError("the probabilities of a channel sum to one for each value")

    @property
    def deterministic(self) -> bool:
        return False

    def push(self, counts: NDArray[Any], *, axis: int = 0) -> NDArray[np.float64]:
        """The expected counts of the masked values along ``axis``."""
        moved = np.moveaxis(np.asarray(counts, dtype=np.float64), axis, -1) @ self.matrix
        return np.moveaxis(moved, -1, axis)
