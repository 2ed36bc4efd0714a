"""How well people and their secrets are hidden in a partition.

Linkage counts people by the size of their class, homogeneity those whose class has a single secret. Entropy says, in
bits, how mixed the sensitive values of a class are; the scaled objective trades that against loss as the paper does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats, Ints
from aegis.candidates.clusters.information_loss import ROUNDING, value_counts
from aegis.candidates.clusters.records import Records, collapse
from aegis.errors import AnonymizerError

Flags = NDArray[np.bool_]

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

    def to_json(self) -> dict[str, Any]:
        """As commands print it; ``classes_seen`` are those that an attacker can tell apart."""
        return {
            "records": self.records,
            "linkage": {f"{tau:g}": people for tau, people in self.linkage.items()},
            "homogeneity": self.homogeneity,
            "homogeneity_by_attribute": dict(self.homogeneity_by_attribute),
            "classes_seen": self.classes,
            "smallest_class": self.smallest_class,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Risk:
        """The risk that `to_json` wrote."""
        return cls(
            records=content["records"],
            classes=content["classes_seen"],
            smallest_class=content["smallest_class"],
            linkage={float(tau): people for tau, people in content["linkage"].items()},
            homogeneity=content["homogeneity"],
            homogeneity_by_attribute=dict(content["homogeneity_by_attribute"]),
        )


def linkage_at_risk(labels: Ints, *, threshold: float) -> int:
    """People whose chance of being linked, 1/size of their class, is strictly above ``threshold``.

    >>> linkage_at_risk(np.array([0] * 20 + [1] * 19), threshold=0.05)
    19
    """
    if not 0 < threshold <= 1:
        raise AnonymizerError(f"a linkage threshold is a probability above 0 and at most 1, not {threshold}")
    size = np.bincount(labels)
    return int(size[(size > 0) & (1.0 / np.maximum(size, 1) > threshold)].sum())


def constant_classes(labels: Ints, codes: Ints) -> Flags:
    """Per record, whether its class has a single value of a sensitive attribute; a class of one always has."""
    counts = value_counts(labels, codes, classes=int(labels.max()) + 1)
    return np.asarray((counts > 0).sum(axis=1) == 1)[labels]


def measure_risk(
    labels: Ints,
    sensitive: Ints,
    *,
    names: Sequence[str],
    thresholds: Sequence[float] = THRESHOLDS,
    persons: Ints | None = None,
) -> Risk:
    """Linkage and homogeneity of one partition; ``persons`` says whose each record is where people are counted.

    >>> risk = measure_risk(np.array([0, 0, 1, 1]), np.array([[0], [0], [0], [1]]), names=["ill"])
    >>> risk.homogeneity, risk.linkage[0.1], risk.smallest_class
    (2, 4, 2)
    """
    constant = {name: constant_classes(labels, codes) for name, codes in zip(names, sensitive.T, strict=True)}
    anyone = np.zeros(len(labels), dtype=bool)
    for column in constant.values():
        anyone |= column
    if persons is not None:
        return _risk_of_people(labels, persons, constant, anyone, thresholds)
    size = np.bincount(labels)
    return Risk(
        records=len(labels),
        classes=int((size > 0).sum()),
        smallest_class=int(size[size > 0].min()),
        linkage={tau: linkage_at_risk(labels, threshold=tau) for tau in thresholds},
        homogeneity=int(anyone.sum()),
        homogeneity_by_attribute={name: int(column.sum()) for name, column in constant.items()},
    )


def _risk_of_people(
    labels: Ints, persons: Ints, constant: Mapping[str, Flags], anyone: Flags, thresholds: Sequence[float]
) -> Risk:
    """The same counted in people: of a class how many it holds, and how many people are in a class at risk."""
    pairs = np.unique(np.column_stack([labels, persons]), axis=0)
    size = np.bincount(pairs[:, 0])

    def people(chosen: Flags) -> int:
        return len(np.unique(persons[chosen]))

    linked = {}
    for tau in thresholds:
        if not 0 < tau <= 1:
            raise AnonymizerError(f"a linkage threshold is a probability above 0 and at most 1, not {tau}")
        linked[tau] = people(1.0 / size[labels] > tau)
    return Risk(
        records=len(labels),
        classes=int((size > 0).sum()),
        smallest_class=int(size[size > 0].min()),
        linkage=linked,
        homogeneity=people(anyone),
        homogeneity_by_attribute={name: people(column) for name, column in constant.items()},
    )


def risk_before(records: Records, *, thresholds: Sequence[float] = THRESHOLDS) -> Risk:
    """The risk in the table as it is: its classes are its distinct quasi-identifier tuples."""
    return measure_risk(
        collapse(records).tuple_of,
        records.sensitive,
        names=records.sensitive_names,
        thresholds=thresholds,
        persons=records.persons,
    )


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
    lost = 1.0 - best_loss / loss if loss > ROUNDING else 0.0
    return lost - trade_off * (entropy_bits / ceiling_bits if ceiling_bits > 0 else 0.0)


def _entropy_bits(counts: Ints) -> Floats:
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    logs = np.log2(share, out=np.zeros_like(share), where=share > 0)
    return np.asarray(-(share * logs).sum(axis=1) + 0.0)
