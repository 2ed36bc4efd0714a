"""The one place of the attacks that knows numba: which people could be behind which class of rows.

Every pair would be people times classes; a list of the classes that each value of the most telling column leaves
possible makes that a small part, and the other columns are looked at until one rules the pair out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile ``function`` to machine code that lets other threads run meanwhile, and keep its type."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


@compiled
def possible_pairs(
    targets: NDArray[Any],
    low: NDArray[Any],
    high: NDArray[Any],
    start: NDArray[Any],
    member: NDArray[Any],
    pivot: int,
    pivot_size: int,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The classes that each target could be in: where each target's list starts, and the lists one after the other.

    ``targets`` has the true codes, a line each; ``low``, ``high`` and ``start`` what each class allows in each column.
    """
    classes, columns = low.shape
    begins = np.zeros(pivot_size + 1, dtype=np.int64)
    for group in range(classes):
        for code in range(low[group, pivot], high[group, pivot]):
            begins[code + 1] += 1
    begins = np.cumsum(begins)
    by_code = np.empty(begins[-1], dtype=np.int64)
    place = begins[:-1].copy()
    for group in range(classes):
        for code in range(low[group, pivot], high[group, pivot]):
            by_code[place[code]] = group
            place[code] += 1
    ends = np.zeros(len(targets) + 1, dtype=np.int64)
    pairs = np.empty(max(2 * len(targets), 16), dtype=np.int64)
    count = 0
    for target in range(len(targets)):
        code = targets[target, pivot]
        for listed in range(begins[code], begins[code + 1]):
            group = by_code[listed]
            fits = True
            for column in range(columns):
                value = targets[target, column]
                if value < low[group, column] or value >= high[group, column]:
                    fits = False
                    break
                if start[group, column] >= 0 and not member[start[group, column] + value]:
                    fits = False
                    break
            if fits:
                if count == len(pairs):
                    larger = np.empty(2 * len(pairs), dtype=np.int64)
                    larger[:count] = pairs
                    pairs = larger
                pairs[count] = group
                count += 1
        ends[target + 1] = count
    return ends, pairs[:count].copy()
