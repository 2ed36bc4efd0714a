"""Random masks on rows: each masked value drawn with the probability that its channel gives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def drawn(matrix: NDArray[np.float64], codes: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.int64]:
    """For each code one draw from its row of a channel."""
    chance = rng.random(len(codes))
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(len(matrix) + 1))
    outcome = np.empty(len(codes), dtype=np.int64)
    for code in np.flatnonzero(np.diff(ends)):
        rows = order[ends[code] : ends[code + 1]]
        ladder = np.cumsum(matrix[code])
        outcome[rows] = np.searchsorted(ladder, chance[rows] * ladder[-1], side="right")
    return np.minimum(outcome, matrix.shape[1] - 1)
