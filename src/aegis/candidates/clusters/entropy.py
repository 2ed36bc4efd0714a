"""How mixed the sensitive values inside the classes are, in bits, and the paper's way to trade that against loss."""

from __future__ import annotations

import numpy as np

from aegis.candidates.clusters.arrays import Floats, Ints
from aegis.candidates.clusters.centroids import value_counts


def class_entropies_bits(labels: Ints, sensitive: Ints) -> Floats:
    """The entropy of each sensitive attribute in each class: (classes, attributes)."""
    classes = int(labels.max()) + 1
    columns = [_entropy_bits(value_counts(labels, codes, classes=classes)) for codes in sensitive.T]
    return np.column_stack(columns or [np.empty((classes, 0))])


def sum_of_minima_bits(entropies: Floats) -> float:
    """The paper's objective: per attribute the entropy of its worst class, added up over attributes.

    >>> sum_of_minima_bits(np.array([[1.0, 0.2], [0.5, 0.9]]))
    0.7
    """
    return float(entropies.min(axis=0).sum())


def minimum_of_sums_bits(entropies: Floats) -> float:
    """The other reading: the worst class by its entropies added up. Never below the sum of the minima.

    >>> minimum_of_sums_bits(np.array([[1.0, 0.2], [0.5, 0.9]]))
    1.2
    """
    return float(entropies.sum(axis=1).min())


def entropy_ceiling_bits(sensitive: Ints) -> float:
    """What no partition can exceed: the entropies of the whole table, added up.

    Entropy is concave, so the classes' entropies average to at most the table's; the smallest of them is below that.
    """
    return sum_of_minima_bits(class_entropies_bits(np.zeros(len(sensitive), dtype=np.int64), sensitive))


def scaled_objective(
    *, loss: float, best_loss: float, entropy_bits: float, ceiling_bits: float, trade_off: float
) -> float:
    """The scaled sum of both goals, to be minimised: ``(1 − best/loss) − trade_off · entropy/ceiling``.

    ``best_loss`` is the best loss known at trade-off 0 for the same number of classes and the same k.

    >>> scaled_objective(loss=0.2, best_loss=0.1, entropy_bits=1.0, ceiling_bits=2.0, trade_off=1.0)
    0.0
    """
    lost = 1.0 - best_loss / loss if loss > 0 else 0.0
    return lost - trade_off * (entropy_bits / ceiling_bits if ceiling_bits > 0 else 0.0)


def _entropy_bits(counts: Ints) -> Floats:
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    logs = np.log2(share, out=np.zeros_like(share), where=share > 0)
    return np.asarray(-(share * logs).sum(axis=1) + 0.0)
