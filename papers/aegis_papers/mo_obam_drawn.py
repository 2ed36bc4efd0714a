"""MO-OBAM as the paper's rows show it: centroids drawn at random, every record at the nearest, the best draw kept.

The paper names no solver. Its rows are found again by the plainest one for its model: the centroids q are decision
variables, drawn uniformly within the range of each number and among the values of each category; a record belongs to
the nearest centroid and is published as that centroid *itself*, not as the mean of its class; of several draws the one
with the best objective (eq. 18) stays. k is no constraint: classes below k are in the paper's own rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.candidates.clusters.outcome import class_entropies_bits, measure_risk, sum_of_minima_bits
from aegis.candidates.clusters.records import Records


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Drawn:
    """One draw of centroids: ``numbers`` and ``categories`` of each, and the centroid that each record belongs to."""

    numbers: Floats
    categories: Ints
    nearest: Ints
    loss: float
    entropy_bits: float

    def figures(self, records: Records) -> dict[str, float | list[int]]:
        """What Tables IV and V show of it; a JSON value. Centroids without records are no classes."""
        _, labels = np.unique(self.nearest, return_inverse=True)
        risk = measure_risk(labels.astype(np.int64), records.sensitive, names=records.sensitive_names)
        return {
            "classes": risk.classes,
            "smallest_class": risk.smallest_class,
            "loss": self.loss,
            "linkage": list(risk.linkage.values()),
            "homogeneity": risk.homogeneity,
            "entropy": self.entropy_bits,
        }


def draw(records: Records, *, classes: int, rng: np.random.Generator) -> Drawn:
    """Centroids uniform within the ranges of the table, and every record at the nearest of them."""
    low, high = records.numeric.min(axis=0), records.numeric.max(axis=0)
    numbers = rng.uniform(low, high, size=(classes, len(low)))
    categories = np.column_stack(
        [np.empty((classes, 0), dtype=np.int64), *(rng.integers(0, len(v), size=classes) for v in records.categories)]
    ).astype(np.int64)
    distance = np.zeros((len(records), classes))
    for place in range(numbers.shape[1]):
        distance += (records.numeric[:, place, None] - numbers[None, :, place]) ** 2
    for place in range(categories.shape[1]):
        distance += records.categorical[:, place, None] != categories[None, :, place]
    nearest = distance.argmin(axis=1)
    _, labels = np.unique(nearest, return_inverse=True)
    entropies = class_entropies_bits(labels.astype(np.int64), records.sensitive)
    return Drawn(
        numbers=numbers,
        categories=categories,
        nearest=nearest.astype(np.int64),
        loss=float(distance[np.arange(len(records)), nearest].sum() / _spread(records)),
        entropy_bits=sum_of_minima_bits(entropies),
    )


def best_of(records: Records, *, classes: int, trade_off: float, draws: int, rng: np.random.Generator) -> Drawn:
    """The draw with the least objective of eq. 18; its MIN and MAX are those of the draws themselves."""
    drawn = [draw(records, classes=classes, rng=rng) for _ in range(draws)]
    least = min(solution.loss for solution in drawn)
    most = max(solution.entropy_bits for solution in drawn) or 1.0
    return min(drawn, key=lambda solution: (1 - least / solution.loss) - trade_off * solution.entropy_bits / most)


def _spread(records: Records) -> float:
    """Eq. 11: the deviation that is in the table itself."""
    numbers = ((records.numeric - records.numeric.mean(axis=0)) ** 2).sum()
    categories = sum(len(records) - np.bincount(column).max() for column in records.categorical.T)
    return float(numbers + categories)
