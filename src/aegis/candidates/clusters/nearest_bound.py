"""A bound from nearest neighbours, for any number of quasi-identifiers.

A class of m records costs at least half the mean, over its members, of their summed distance to the class: for
numbers the two are equal, for categories the Gini impurity never exceeds the misses of the mode. A record's summed
distance to m records is at least that to its m nearest, D(m). So the loss is at least Σ D(mᵢ)/(2mᵢ), where mᵢ ≥ k is
the size of record i's class; and since Σ 1/mᵢ is the number of classes, for any price λ ≥ 0 of a class it is at least
Σ min over m of (D(m)/2 + λ)/m, less λ times the number of classes. The best λ is found by a search on a concave line.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from aegis.candidates.clusters.arrays import Floats
from aegis.candidates.clusters.neighbours import embed
from aegis.candidates.clusters.records import Tuples

WHOLE = 1000  # up to so many tuples every distance is used; beyond, the nearest
NEAREST = 200
DISTANCES = 2_000_000  # kept at once: fewer neighbours for very many tuples, and a weaker bound


def nearest_bound(tuples: Tuples, divisor: Floats, *, k: int, most_classes: int | None) -> float:
    """A proved lower bound on the deviation of any partition into classes of at least k, at most ``most_classes``."""
    points = embed(tuples, divisor)
    count = len(tuples)
    asked = count if count <= WHOLE else min(count, max(min(NEAREST, DISTANCES // count), k))
    away, near = cKDTree(points).query(points, k=asked, workers=-1)
    squared = np.asarray(away, dtype=np.float64).reshape(count, -1) ** 2
    weights = tuples.weight[np.asarray(near).reshape(count, -1)].astype(np.float64)
    held = np.cumsum(weights, axis=1)
    summed = np.cumsum(weights * squared, axis=1)
    everyone = float(tuples.weight.sum())
    at_k = _summed_at(k, held, summed, squared)
    # sizes worth trying: k itself, every size at which a tuple is used up, and everyone
    sizes = np.hstack([np.full((count, 1), float(k)), np.maximum(held, k), np.full((count, 1), everyone)])
    last = summed[:, -1:] + np.maximum(everyone - held[:, -1:], 0.0) * squared[:, -1:]
    deviations = np.hstack([at_k[:, None], np.where(held < k, at_k[:, None], summed), last])

    def value(price: float) -> float:
        per_record = ((deviations / 2 + price) / sizes).min(axis=1)
        return float(tuples.weight @ per_record) - price * (most_classes or 0)

    if most_classes is None:
        return max(value(0.0), 0.0)
    # concave in the price: one derivative-free search that halves the range about every second step
    low, high = 0.0, float(tuples.weight @ ((points - points.mean(axis=0)) ** 2).sum(axis=1)) / most_classes + 1.0
    left, right = high * 0.382, high * 0.618
    at_left, at_right = value(left), value(right)
    for _ in range(30):
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + (high - low) * 0.618
            at_right = value(right)
        else:
            high, right, at_right = right, left, at_left
            left = low + (high - low) * 0.382
            at_left = value(left)
    return max(at_left, at_right, value(0.0), 0.0)


def _summed_at(size: int, held: Floats, summed: Floats, squared: Floats) -> Floats:
    """The summed distance of each tuple to its nearest ``size`` records."""
    column = np.minimum((held < size).sum(axis=1), held.shape[1] - 1)
    row = np.arange(len(held))
    return np.asarray(summed[row, column] + (size - held[row, column]) * squared[row, column])
