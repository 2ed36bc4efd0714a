"""A label that classes are to keep predictable: one more term of the loss, beside those of the quasi-identifiers.

Records of different labels lie apart, by so much that the label of the whole table deviates as much as is asked for,
measured against all its quasi-identifiers together. What a class loses of the label is the deviation from its mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats, Ints
from aegis.candidates.clusters.information_loss import Scale, divisors, total_deviation
from aegis.candidates.clusters.records import Records
from aegis.errors import AnonymizerError, LabelError
from aegis.learners.sample import MOST_CLASSES

FEW_NUMBERS = 20  # a label of numbers with more values than these is kept as a number, with fewer as classes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class WeighedLabel:
    """The label of some records as numbers: one column, or one for each class."""

    columns: Floats

    @classmethod
    def of(cls, label: NDArray[Any] | None, records: Records, *, scale: Scale, weight: float) -> WeighedLabel:
        """The label in numbers that deviate ``weight`` times as much as all quasi-identifiers together."""
        if label is None:
            raise AnonymizerError("a weight of the label needs the label; give it as y, or leave the weight out")
        if len(label) != len(records):
            raise AnonymizerError("the label has another number of rows than the records; give one for each")
        values, codes = np.unique(label, return_inverse=True)
        if label.dtype.kind in "fiu" and len(values) > FEW_NUMBERS:
            columns = label.astype(np.float64)[:, None]
        elif len(values) > MOST_CLASSES:  # each would be a column of every record
            raise LabelError(
                f"a label of {len(values):,} classes cannot be kept predictable; at most {MOST_CLASSES} can"
            )
        else:
            columns = np.eye(len(values))[codes]
        columns = columns - columns.mean(axis=0)
        spread = float((columns**2).sum())
        if spread == 0:
            raise AnonymizerError("the label has one value only, so there is nothing to keep; leave it out")
        return cls(columns=columns * np.sqrt(weight * total_deviation(records, scale=scale) / spread))

    def beside(self, records: Records, *, scale: Scale) -> Records:
        """The records with the label as further numbers, all of them in the unit of the loss."""
        return replace(
            records,
            numeric=np.hstack([records.numeric / divisors(records, scale=scale), self.columns]),
            numeric_names=(*records.numeric_names, *(f"label {at}" for at in range(self.columns.shape[1]))),
        )

    def deviation(self, labels: Ints) -> float:
        """By how much the label deviates from its means in these classes."""
        sizes = np.maximum(np.bincount(labels), 1)
        sums = np.stack([np.bincount(labels, weights=column) for column in self.columns.T])
        return max(float((self.columns**2).sum() - (sums**2 / sizes).sum()), 0.0)
