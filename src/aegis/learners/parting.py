"""The compiled step that all trees share: the rows of a node are parted by a cut."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.learners.compiled import compiled


@compiled
def parted(
    order: NDArray[np.int32],
    spare: NDArray[np.int32],
    line: NDArray[np.uint8],
    first: int,
    last: int,
    begin: int,
    end: int,
) -> int:
    """Put the rows whose bin lies from ``first`` to ``last`` before the others; give where the others begin."""
    kept, moved = begin, 0
    for i in range(begin, end):
        row = order[i]
        stays = first <= line[row] <= last
        # Both are written and one of them counts: a branch here would be guessed wrong every other time.
        order[kept] = row
        spare[moved] = row
        kept += stays
        moved += not stays
    for i in range(moved):
        order[kept + i] = spare[i]
    return kept
