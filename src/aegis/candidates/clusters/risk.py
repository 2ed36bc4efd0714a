"""How many people an attacker could single out: by the size of their class, or because their class has one secret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aegis.candidates.clusters.arrays import Ints
from aegis.candidates.clusters.centroids import value_counts
from aegis.candidates.clusters.records import Records, collapse
from aegis.errors import AnonymizerError

THRESHOLDS = (0.05, 0.075, 0.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk:
    """People at risk in one partition of a table."""

    records: int
    classes: int
    smallest_class: int
    linkage: dict[float, int]  # threshold → people whose class is smaller than 1/threshold
    homogeneity: int  # people of whom at least one sensitive value is certain
    homogeneity_by_attribute: dict[str, int]


def linkage_at_risk(labels: Ints, *, threshold: float) -> int:
    """People whose chance of being linked, 1/size of their class, is strictly above ``threshold``.

    >>> linkage_at_risk(np.array([0] * 20 + [1] * 19), threshold=0.05)
    19
    """
    if not 0 < threshold <= 1:
        raise AnonymizerError(f"a linkage threshold is a probability above 0 and at most 1, not {threshold}")
    size = np.bincount(labels)
    return int(size[(size > 0) & (1.0 / np.maximum(size, 1) > threshold)].sum())


def constant_classes(labels: Ints, codes: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Per record, whether its class has a single value of a sensitive attribute; a class of one always has."""
    counts = value_counts(labels, codes, classes=int(labels.max()) + 1)
    return np.asarray((counts > 0).sum(axis=1) == 1)[labels]


def measure_risk(
    labels: Ints, sensitive: Ints, *, names: Sequence[str], thresholds: Sequence[float] = THRESHOLDS
) -> Risk:
    """Linkage and homogeneity of one partition.

    >>> risk = measure_risk(np.array([0, 0, 1, 1]), np.array([[0], [0], [0], [1]]), names=["ill"])
    >>> risk.homogeneity, risk.linkage[0.1], risk.smallest_class
    (2, 4, 2)
    """
    constant = {name: constant_classes(labels, codes) for name, codes in zip(names, sensitive.T, strict=True)}
    anyone = np.zeros(len(labels), dtype=bool)
    for column in constant.values():
        anyone |= column
    size = np.bincount(labels)
    return Risk(
        records=len(labels),
        classes=int((size > 0).sum()),
        smallest_class=int(size[size > 0].min()),
        linkage={tau: linkage_at_risk(labels, threshold=tau) for tau in thresholds},
        homogeneity=int(anyone.sum()),
        homogeneity_by_attribute={name: int(column.sum()) for name, column in constant.items()},
    )


def risk_before(records: Records, *, thresholds: Sequence[float] = THRESHOLDS) -> Risk:
    """The risk in the table as it is: its classes are its distinct quasi-identifier tuples."""
    return measure_risk(
        collapse(records).tuple_of, records.sensitive, names=records.sensitive_names, thresholds=thresholds
    )
