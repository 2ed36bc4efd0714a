"""What a search makes large: the utility of a released table, with a bound on what any coarser table can have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Ints
from aegis.candidates.search.information import Logarithms, informations
from aegis.measures.information import mutual_information
from aegis.measures.measure import AttributeMeasure, find_attribute_measure

DEFAULT_MEASURE = "leave-one-out-information"

ROUNDING = 1e-10
"""Sums in different orders differ by about this; a bound is raised by it before anything is pruned."""

SAYS_NOTHING = 0.99
"""A bound of at least this share of what knowing the label itself would give rules out nothing worth telling."""

Bools = NDArray[np.bool_]
Bounding = Callable[[Ints], float]


def _plug_in_accuracy(labels: Ints) -> float:
    """The share of records with the commonest label of their class."""
    return float(labels.max(axis=1).sum() / max(int(labels.sum()), 1))


def _plug_in_information(labels: Ints) -> float:
    return float(mutual_information(labels))


# Measures that rise and fall under merging, with a monotone one that is never below: proofs in docs/theory/search.md.
BOUNDED_BY: dict[str, Bounding] = {
    DEFAULT_MEASURE: _plug_in_information,
    "leave-one-out-accuracy": _plug_in_accuracy,
}


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

    def weigh(self, labels: Ints, pooled: Bools) -> tuple[float, float]:
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
