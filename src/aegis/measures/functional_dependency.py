"""How far the attribute is from determining the label: the three errors of an approximate functional dependency."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.counts.joint import Counts, divisor
from aegis.measures.measure import attribute_measure

_KIVINEN = "Kivinen and Mannila 1995"


def _pairs_that_differ(label: Counts) -> NDArray[np.float64]:
    label = np.asarray(label, dtype=np.float64)
    return 1.0 - (label**2).sum(axis=-1) / divisor(label.sum(axis=-1)) ** 2


def _everything_if_mixed(label: Counts) -> NDArray[np.float64]:
    return ((label > 0).sum(axis=-1) > 1).astype(np.float64)


def _share_outside_the_mode(label: Counts) -> NDArray[np.float64]:
    total = np.asarray(label.sum(axis=-1), dtype=np.float64)
    return (total - label.max(axis=-1)) / divisor(total)


@attribute_measure(
    "g1",
    unit="share of pairs of records",
    higher_is_better=False,
    upper=1.0,
    invariant=False,
    monotone=True,
    reference=_KIVINEN,
    blank=_pairs_that_differ,
)
def g1(counts: Counts) -> NDArray[np.float64]:
    """The share of ordered pairs of records that agree on the attribute and differ on the label.

    >>> float(g1(np.array([[1, 1], [2, 0]])))
    0.125
    """
    counts = np.asarray(counts, dtype=np.float64)
    rows = counts.sum(axis=-1)
    violating = (rows**2).sum(axis=-1) - (counts**2).sum(axis=(-2, -1))
    return np.maximum(violating, 0.0) / divisor(rows.sum(axis=-1)) ** 2


@attribute_measure(
    "g2",
    unit="share of records",
    higher_is_better=False,
    upper=1.0,
    invariant=True,
    monotone=True,
    reference=_KIVINEN,
    blank=_everything_if_mixed,
)
def g2(counts: Counts) -> NDArray[np.float64]:
    """The share of records whose attribute value occurs with more than one label.

    >>> float(g2(np.array([[1, 1], [2, 0]])))
    0.5
    """
    rows = np.asarray(counts.sum(axis=-1), dtype=np.float64)
    mixed = (counts > 0).sum(axis=-1) > 1
    return (rows * mixed).sum(axis=-1) / divisor(rows.sum(axis=-1))


@attribute_measure(
    "g3",
    unit="share of records",
    higher_is_better=False,
    upper=1.0,
    invariant=True,
    monotone=True,
    reference=f"{_KIVINEN}; Aegis section 3.2",
    blank=_share_outside_the_mode,
)
def g3(counts: Counts) -> NDArray[np.float64]:
    """The share of records to remove until the attribute determines the label.

    It is the error of the best classifier that sees this attribute only, on the records it was trained on.

    >>> float(g3(np.array([[3, 1], [0, 4]])))
    0.125
    """
    rows = np.asarray(counts.sum(axis=-1), dtype=np.float64)
    return (rows - counts.max(axis=-1)).sum(axis=-1) / divisor(rows.sum(axis=-1))
