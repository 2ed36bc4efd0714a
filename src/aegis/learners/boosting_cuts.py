"""The compiled step of the boosted trees that finds the best cut of a node, given its sums by column and bin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.learners.compiled import compiled


@compiled
def find_cut(
    best: NDArray[np.float64],
    cells: NDArray[np.int64],
    sums: NDArray[np.int64],
    starts: NDArray[np.int64],
    ordered: NDArray[np.bool_],
    least: int,
    held: float,
) -> None:
    """The column and the bins whose parting from the rest gains most; a gain of 0 where none is allowed."""
    best[0], best[1], best[2], best[3] = 0.0, -1.0, 0.0, 0.0
    whole: Any = np.int64(0)
    for place in range(starts[0], starts[1]):
        whole += cells[place]
    all_rows = whole & 0x7FFF
    if all_rows < 2 * least:
        return
    all_slope, all_curve = float(whole >> 37), float((whole >> 15) & 0x3FFFFF)
    before = all_slope * all_slope / (all_curve + held)
    # What both parts explain has to exceed this; fractions are compared crosswise, a division costs more than the rest.
    bar = before
    for j in range(len(starts) - 1):
        alone = not ordered[j] and starts[j + 1] - starts[j] > 2
        line = cells[starts[j] : starts[j + 1]]
        up_to = sums[: len(line)]
        reached = np.int64(0)
        for b in range(len(line)):
            reached += line[b]
            up_to[b] = reached
        # Most columns hold no better cut than those before: all their bins are asked at once.
        if not exceeds(up_to, whole, bar, least, held) and not (alone and exceeds(line, whole, bar, least, held)):
            continue
        for b in range(len(line)):
            if line[b] == 0:
                continue
            for single in range(2 if alone else 1):
                part = line[b] if single else up_to[b]
                rows = part & 0x7FFF
                if rows < least or all_rows - rows < least:
                    continue
                slope = float(part >> 37)
                rest = all_slope - slope
                curve = float((part >> 15) & 0x3FFFFF) + held
                curve_rest = all_curve + 2.0 * held - curve
                above, below = slope * slope * curve_rest + rest * rest * curve, curve * curve_rest
                if above > bar * below:
                    bar = above / below
                    best[1], best[3] = j, b
                    best[2] = b if single else 0.0
    best[0] = bar - before


@compiled
def exceeds(parts: NDArray[np.int64], whole: int, bar: float, least: int, held: float) -> bool:
    """Whether parting one of these from the rest of the whole explains more than the bar."""
    all_rows = np.int32(whole & 0x7FFF)
    all_slope, all_curve = float(whole >> 37), float((whole >> 15) & 0x3FFFFF)
    fewest, most = np.int32(least), np.int32(all_rows - least)
    found: Any = 0
    for b in range(len(parts)):
        rows = np.int32(parts[b] & 0x7FFF)
        slope = float(np.int32(parts[b] >> 37))
        rest = all_slope - slope
        curve = float(np.int32((parts[b] >> 15) & 0x3FFFFF)) + held
        curve_rest = all_curve + 2.0 * held - curve
        above, below = slope * slope * curve_rest + rest * rest * curve, curve * curve_rest
        found |= (rows >= fewest) & (rows <= most) & (above > bar * below)
    return bool(found != 0)
