"""The two informations of a class table, fast: what the classes tell about the label, with and without memorising.

Both are sums over classes of functions of whole numbers, so the logarithms are looked up. The tables end at
`TABULATED`; larger counts, of which a table can hold only few, are computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Ints
from aegis.compiled import ZERO, compiled
from aegis.counts.joint import divisor
from aegis.measures.leave_one_out import PRIOR_RECORDS

Reals = NDArray[np.float64]

TABULATED = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Logarithms:
    """``cells[y, c]`` is what a cell of label y with c records adds to the leave-one-out bits, ``rows[n]`` what a class
    of n records adds to them, ``plain[n]`` is n log2 n; ``prior[y]`` are the records added of each label."""

    cells: Reals
    rows: Reals
    plain: Reals
    prior: Reals

    @classmethod
    def of(cls, totals: Ints) -> Logarithms:
        """For a table whose label has these counts."""
        records = int(totals.sum())
        prior = PRIOR_RECORDS * totals / max(records, 1)
        counts = np.arange(min(records, TABULATED) + 1, dtype=np.float64)
        some = divisor(prior)[:, None]
        cells = counts * np.log2((np.maximum(counts - 1.0, 0.0) + some) / some)
        rows = counts * np.log2(PRIOR_RECORDS / (np.maximum(counts - 1.0, 0.0) + PRIOR_RECORDS))
        plain = counts * np.log2(np.maximum(counts, 1.0))
        return cls(cells=cells, rows=rows, plain=plain, prior=some[:, 0])


@compiled
def cell_bits(count: int, label: int, cells: Reals, prior: Reals) -> float:
    """What a cell adds to the leave-one-out bits."""
    if count < cells.shape[1]:
        return float(cells[label, count])
    return count * math.log2((count - 1.0 + prior[label]) / prior[label])


@compiled
def row_bits(size: int, rows: Reals) -> float:
    """What the size of a class adds to the leave-one-out bits (it is negative)."""
    if size < len(rows):
        return float(rows[size])
    return size * math.log2(PRIOR_RECORDS / (size - 1.0 + PRIOR_RECORDS))


@compiled
def plain_bits(count: int, plain: Reals) -> float:
    """n log2 n."""
    if count < len(plain):
        return float(plain[count])
    return count * math.log2(count)


@compiled
def informations(
    labels: Ints, pooled: NDArray[np.bool_], cells: Reals, rows: Reals, plain: Reals, prior: Reals
) -> tuple[float, float]:
    """The plug-in information of the classes, and the leave-one-out gain after the pooled classes became one.

    Both in bits times records; the gain is not clipped.
    """
    classes, kinds = labels.shape
    totals = np.zeros(kinds, dtype=np.int64)
    pool = np.zeros(kinds, dtype=np.int64)
    bound, gained = 0.0, 0.0
    records, in_pool = ZERO, ZERO
    for i in range(classes):
        size = ZERO
        for y in range(kinds):
            count = labels[i, y]
            size += count
            totals[y] += count
            bound += plain_bits(count, plain)
            if pooled[i]:
                pool[y] += count
            else:
                gained += cell_bits(count, y, cells, prior)
        bound -= plain_bits(size, plain)
        records += size
        if pooled[i]:
            in_pool += size
        else:
            gained += row_bits(size, rows)
    for y in range(kinds):
        bound -= plain_bits(totals[y], plain)
        gained += cell_bits(pool[y], y, cells, prior)
    bound += plain_bits(records, plain)
    gained += row_bits(in_pool, rows)
    return bound, gained
