"""An anonymized table in numbers: what was lost, how well people and their secrets are hidden, and how the search went.

Linkage counts people by the size of their class, homogeneity those whose class has a single secret. Entropy says, in
bits, how mixed the sensitive values of a class are; the scaled objective trades that against loss as the paper does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from aegis.arrays import Flags, Floats, Ints
from aegis.candidates.clusters.information_loss import ROUNDING, Centers, Scale, information_loss, value_counts
from aegis.candidates.clusters.records import Records, collapse
from aegis.errors import AnonymizerError
from aegis.result import AMONG_OTHERS, called, plain, rebuilt

THRESHOLDS = (0.05, 0.075, 0.1)
Finished = Literal["done", "time", "rounds", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk:
    """People at risk in one partition of a table."""

    records: int
    classes: int = field(metadata=called("classes_seen"))  # those that an attacker can tell apart
    smallest_class: int
    linkage: dict[float, int]  # threshold → people whose class is smaller than 1/threshold
    homogeneity: int  # people of whom at least one sensitive value is certain
    homogeneity_by_attribute: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """As commands print it."""
        return {**plain(self), "linkage": {f"{tau:g}": people for tau, people in self.linkage.items()}}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Risk:
        """The risk that `to_json` wrote."""
        risk: Risk = rebuilt(cls, content)
        return risk


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


def gap_in_words(loss: float, bound: float) -> str:
    """How far a loss is from its bound.

    >>> gap_in_words(0.00106, 0.001)
    'within 6.0 % of the best possible'
    """
    if loss <= 0:
        return "nothing is lost"
    if bound <= 0:
        return "no bound above zero is known"
    return f"within {max(loss / bound - 1, 0) * 100:.1f} % of the best possible"


def objective_in_words(objective: float, bound: float | None) -> str:
    """An objective of loss and entropy beside what none goes below.

    >>> objective_in_words(-0.93, -1.02)
    'objective -0.9300, none can be below -1.0200'
    """
    below = "no bound on it is known" if bound is None else f"none can be below {bound:.4f}"
    return f"objective {objective:.4f}, {below}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """How the search went."""

    finished: Finished
    rounds: int
    start_loss: float  # of the first valid partition
    best_loss: float  # the smallest known at trade-off 0 with the same k, l and number of classes, and the same label
    stages: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return plain(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Anonymized:
    """One anonymized table in numbers; every one of them was read off the table as it is published."""

    method: str
    k: int
    l: int
    classes: int  # classes the method formed
    distinct_tuples: int  # classes an attacker sees: classes with the same centre are one
    smallest_class: int
    scale: str
    information_loss: float
    lower_bound: float | None  # on the loss of mean/mode centroids; None where none was computed
    entropy_bits: dict[str, float] = field(metadata=called("entropy"))  # per sensitive attribute, of its worst class
    entropy_sum_of_minima_bits: float = field(metadata=called("entropy_bits"))
    entropy_minimum_of_sums_bits: float
    entropy_ceiling_bits: float
    before: Risk
    after: Risk = field(metadata=AMONG_OTHERS)
    seconds: float
    diagnosis: Diagnosis = field(metadata=AMONG_OTHERS)
    trade_off: float = 0.0  # what entropy counted against loss; 0 where loss alone did
    minimum_of_sums: bool = False  # whether the worst class by its summed entropies counted
    label_loss: float = 0.0  # what is lost of a label that was weighed, on the scale of the loss
    weighed_bound: float | None = None  # on the loss with the label's; None where no label was weighed
    also_shown: ClassVar[tuple[str, ...]] = ("gap", "objective", "objective_bound")

    @property
    def weighed_loss(self) -> float:
        """The loss that was minimised: of the quasi-identifiers, and of the label where one was weighed."""
        return self.information_loss + self.label_loss

    @property
    def objective(self) -> float | None:
        """The scaled sum of loss and entropy that was minimised; None where loss alone was."""
        if not self.trade_off:
            return None
        bits = self.entropy_minimum_of_sums_bits if self.minimum_of_sums else self.entropy_sum_of_minima_bits
        return scaled_objective(
            loss=self.weighed_loss,
            best_loss=self.diagnosis.best_loss,
            entropy_bits=bits,
            ceiling_bits=self.entropy_ceiling_bits,
            trade_off=self.trade_off,
        )

    @property
    def objective_bound(self) -> float | None:
        """What no partition goes below: the bound on the loss, with the entropies of the whole table."""
        bound = self.lower_bound if self.weighed_bound is None else self.weighed_bound
        if not self.trade_off or not bound:
            return None
        return min(1.0 - self.diagnosis.best_loss / bound, 0.0) - self.trade_off

    @property
    def gap(self) -> str:
        """How near this is to what is possible, in words: of the objective where entropy counted, else of the loss."""
        if self.objective is None:
            return gap_in_words(self.information_loss, self.lower_bound or 0.0)
        return objective_in_words(self.objective, self.objective_bound)

    def to_json(self) -> dict[str, Any]:
        """As commands print it: the risk that is left beside the figures, the risk there was under ``before``."""
        return {**plain(self), "before": self.before.to_json()}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Anonymized:
        """The figures that `to_json` wrote; files of version 0.1.0 say nothing of a trade-off."""
        anonymized: Anonymized = rebuilt(cls, content)
        return anonymized


def outcome_of(
    records: Records,
    seen: Ints,
    rows: Centers,
    after: Risk,
    *,
    method: str,
    k: int,
    l: int,
    classes: int,
    scale: Scale,
    seconds: float,
    diagnosis: Diagnosis | None = None,
    lower_bound: float | None = None,
    trade_off: float = 0.0,
    minimum_of_sums: bool = False,
    before: Risk | None = None,
) -> Anonymized:
    """The numbers of a table: ``seen`` are the classes an attacker sees, ``rows`` is what stands for each record.

    ``before`` is what could be learnt from the records themselves, where that is measured already. Without a
    ``diagnosis`` the classes were formed once and not bettered.
    """
    loss = information_loss(records, rows, scale=scale)
    if diagnosis is None:
        diagnosis = Diagnosis(finished="done", rounds=1, start_loss=loss, best_loss=loss, stages=(method,))
    bits = class_entropies_bits(seen, records.sensitive)
    return Anonymized(
        method=method,
        k=k,
        l=l,
        classes=classes,
        distinct_tuples=after.classes,
        smallest_class=after.smallest_class,
        scale=scale,
        information_loss=loss,
        lower_bound=lower_bound,
        entropy_bits=dict(zip(records.sensitive_names, bits.min(axis=0).tolist(), strict=True)),
        entropy_sum_of_minima_bits=sum_of_minima_bits(bits),
        entropy_minimum_of_sums_bits=minimum_of_sums_bits(bits),
        entropy_ceiling_bits=entropy_ceiling_bits(records.sensitive),
        before=before or risk_before(records),
        after=after,
        seconds=seconds,
        diagnosis=diagnosis,
        trade_off=trade_off,
        minimum_of_sums=minimum_of_sums,
    )
