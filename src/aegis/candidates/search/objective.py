"""What a search makes large: the utility of a released table, with a bound on what any coarser table can have.

The two informations of a class table, what the classes tell about the label with and without memorising, are sums over
classes of functions of whole numbers, so the logarithms are looked up. The tables end at `TABULATED`; larger counts, of
which a table can hold only few, are computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aegis.arrays import Flags, Floats, Ints
from aegis.compiled import ZERO, compiled
from aegis.counts.joint import divisor
from aegis.measures.information import mutual_information
from aegis.measures.leave_one_out import PRIOR_RECORDS
from aegis.measures.measure import AttributeMeasure, find_attribute_measure

TABULATED = 1 << 16
DEFAULT_MEASURE = "leave-one-out-information"
ROUNDING = 1e-10
"""Sums in different orders differ by about this; a bound is raised by it before anything is pruned."""
SAYS_NOTHING = 0.99
"""A bound of at least this share of what knowing the label itself would give rules out nothing worth telling."""
Bounding = Callable[[Ints], float]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Logarithms:
    """``cells[y, c]`` is what a cell of label y with c records adds to the leave-one-out bits, ``rows[n]`` what a class
    of n records adds to them, ``plain[n]`` is n log2 n; ``prior[y]`` are the records added of each label."""

    cells: Floats
    rows: Floats
    plain: Floats
    prior: Floats

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
def cell_bits(count: int, label: int, cells: Floats, prior: Floats) -> float:
    """What a cell adds to the leave-one-out bits."""
    if count < cells.shape[1]:
        return float(cells[label, count])
    return count * math.log2((count - 1.0 + prior[label]) / prior[label])


@compiled
def row_bits(size: int, rows: Floats) -> float:
    """What the size of a class adds to the leave-one-out bits (it is negative)."""
    if size < len(rows):
        return float(rows[size])
    return size * math.log2(PRIOR_RECORDS / (size - 1.0 + PRIOR_RECORDS))


@compiled
def plain_bits(count: int, plain: Floats) -> float:
    """n log2 n."""
    if count < len(plain):
        return float(plain[count])
    return count * math.log2(count)


@compiled
def informations(
    labels: Ints, pooled: Flags, cells: Floats, rows: Floats, plain: Floats, prior: Floats
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


def _plug_in_accuracy(labels: Ints) -> float:
    """The share of records with the commonest label of their class."""
    return float(labels.max(axis=1).sum() / max(int(labels.sum()), 1))


def _plug_in_information(labels: Ints) -> float:
    return float(mutual_information(labels))


# Measures that rise and fall under merging, with a monotone one that is never below: proofs in docs/theory/search.md.
BOUNDED_BY: dict[str, Bounding] = {DEFAULT_MEASURE: _plug_in_information, "leave-one-out-accuracy": _plug_in_accuracy}


def _ceiling(measure: AttributeMeasure, totals: Ints) -> float:
    """The score of a table whose classes are the labels themselves."""
    if measure.name == DEFAULT_MEASURE or measure.unit == "bits":
        return _plug_in_information(np.diag(totals))
    end = measure.upper if measure.higher_is_better else -measure.lower
    return float(end)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Objective:
    """A measure of the released tuple about the label, turned so that larger is better.

    ``labels`` are counts, classes down and labels across. ``weigh`` gives the bound that holds for every table made
    from these classes by merging them, and the value after the pooled classes became one.
    """

    measure: AttributeMeasure
    logarithms: Logarithms
    records: int
    ceiling: float  # the score of a table that tells the label itself; infinite where nobody knows

    @classmethod
    def of(cls, measure: str, totals: Ints) -> Objective:
        attribute_measure = find_attribute_measure(measure)
        return cls(
            measure=attribute_measure,
            logarithms=Logarithms.of(totals),
            records=int(totals.sum()),
            ceiling=_ceiling(attribute_measure, totals),
        )

    def weigh(self, labels: Ints, pooled: Flags) -> tuple[float, float]:
        """The bound and the value."""
        if self.measure.name == DEFAULT_MEASURE:
            logs = self.logarithms
            bound, gained = informations(labels, pooled, logs.cells, logs.rows, logs.plain, logs.prior)
            return bound / self.records + ROUNDING, max(gained / self.records, 0.0)
        if pooled.any():
            released = np.concatenate([labels[~pooled], labels[pooled].sum(axis=0, keepdims=True)])
        else:
            released = labels
        return self._bound(labels), self.value(released)

    def value(self, labels: Ints) -> float:
        """The value of a table as it is."""
        if self.measure.name == DEFAULT_MEASURE:
            return self.weigh(labels, np.zeros(len(labels), dtype=bool))[1]
        return self.turned(float(self.measure(labels)))

    def _bound(self, labels: Ints) -> float:
        if self.measure.monotone:
            return self.turned(float(self.measure(labels))) + ROUNDING
        if self.measure.name in BOUNDED_BY:
            return BOUNDED_BY[self.measure.name](labels) + ROUNDING
        return self.turned(self.measure.upper if self.measure.higher_is_better else self.measure.lower)

    def turned(self, value: float) -> float:
        """A value as a score, larger being better; its own inverse."""
        return value if self.measure.higher_is_better else -value

    def tells(self, bound: float) -> bool:
        """Whether a bound rules anything out: where nearly all raw tuples are unique, the plug-in value of them is
        that of the label itself, and to say that no table exceeds it is to say nothing.
        """
        return bound < SAYS_NOTHING * self.ceiling if self.ceiling > 0 else bound < self.ceiling
