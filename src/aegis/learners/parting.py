"""The compiled step that all trees share: the rows of a node are parted by a cut.

Places and codes are unsigned and a node's rows are a slice of their own: the compiler would look at every number that
could be negative, whether it counts from the end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.learners.compiled import compiled


@compiled
def parted(
    rows: NDArray[np.uint32], spare: NDArray[np.uint32], line: NDArray[np.uint8], first: int, last: int
) -> np.int64:
    """Put the ``rows`` whose bin lies from ``first`` to ``last`` before the others; give how many these are."""
    kept = np.uint64(0)
    lowest, width = np.uint8(first), np.uint8(last - first)
    for i in range(len(rows)):
        row = rows[i]
        # Both are written and one of them counts: a branch here would be guessed wrong every other time.
        rows[kept] = row
        spare[np.uint64(i) - kept] = row
        kept += np.uint64(np.uint8(line[row] - lowest) <= width)  # below the lowest it wraps around, beyond the width
    others = rows[np.int64(kept) :]
    for i in range(len(others)):
        others[i] = spare[i]
    return np.int64(kept)
