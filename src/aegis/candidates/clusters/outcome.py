"""An anonymized table in numbers: what was lost, what is left to learn, and how the search went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from aegis.arrays import Ints
from aegis.candidates.clusters.information_loss import Centers, Scale, information_loss
from aegis.candidates.clusters.lower_bound import gap_in_words, objective_in_words
from aegis.candidates.clusters.records import Records
from aegis.candidates.clusters.risk import (
    Risk,
    class_entropies_bits,
    entropy_ceiling_bits,
    minimum_of_sums_bits,
    risk_before,
    scaled_objective,
    sum_of_minima_bits,
)

Finished = Literal["done", "time", "rounds", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """How the search went."""

    finished: Finished
    rounds: int
    start_loss: float  # of the first valid partition
    best_loss: float  # the smallest known at trade-off 0 with the same k, l and number of classes, and the same label
    stages: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Anonymized:
    """One anonymized table in numbers; every one of them was read off the table as it is published."""

    method: str
    k: int
    l: int  # noqa: E741 - l as in l-diversity
    classes: int  # classes the method formed
    distinct_tuples: int  # classes an attacker sees: classes with the same centre are one
    smallest_class: int
    scale: str
    information_loss: float
    lower_bound: float | None  # on the loss of mean/mode centroids; None where none was computed
    entropy_bits: dict[str, float]  # per sensitive attribute, of its worst class
    entropy_sum_of_minima_bits: float
    entropy_minimum_of_sums_bits: float
    entropy_ceiling_bits: float
    before: Risk
    after: Risk
    seconds: float
    diagnosis: Diagnosis
    trade_off: float = 0.0  # what entropy counted against loss; 0 where loss alone did
    minimum_of_sums: bool = False  # whether the worst class by its summed entropies counted
    label_loss: float = 0.0  # what is lost of a label that was weighed, on the scale of the loss
    weighed_bound: float | None = None  # on the loss with the label's; None where no label was weighed

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
        return {
            "method": self.method,
            "k": self.k,
            "l": self.l,
            "classes": self.classes,
            "distinct_tuples": self.distinct_tuples,
            "scale": self.scale,
            "information_loss": self.information_loss,
            "lower_bound": self.lower_bound,
            "gap": self.gap,
            "trade_off": self.trade_off,
            "minimum_of_sums": self.minimum_of_sums,
            "label_loss": self.label_loss,
            "weighed_bound": self.weighed_bound,
            "objective": self.objective,
            "objective_bound": self.objective_bound,
            "entropy": dict(self.entropy_bits),
            "entropy_bits": self.entropy_sum_of_minima_bits,
            "entropy_minimum_of_sums_bits": self.entropy_minimum_of_sums_bits,
            "entropy_ceiling_bits": self.entropy_ceiling_bits,
            **self.after.to_json(),
            "before": self.before.to_json(),
            "finished": self.diagnosis.finished,
            "rounds": self.diagnosis.rounds,
            "start_loss": self.diagnosis.start_loss,
            "best_loss": self.diagnosis.best_loss,
            "stages": list(self.diagnosis.stages),
            "seconds": self.seconds,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Anonymized:
        """The figures that `to_json` wrote."""
        return cls(
            method=content["method"],
            k=content["k"],
            l=content["l"],
            classes=content["classes"],
            distinct_tuples=content["distinct_tuples"],
            smallest_class=content["smallest_class"],
            scale=content["scale"],
            information_loss=content["information_loss"],
            lower_bound=content["lower_bound"],
            entropy_bits=dict(content["entropy"]),
            entropy_sum_of_minima_bits=content["entropy_bits"],
            entropy_minimum_of_sums_bits=content["entropy_minimum_of_sums_bits"],
            entropy_ceiling_bits=content["entropy_ceiling_bits"],
            before=Risk.from_json(content["before"]),
            after=Risk.from_json(content),
            seconds=content["seconds"],
            diagnosis=Diagnosis(
                finished=content["finished"],
                rounds=content["rounds"],
                start_loss=content["start_loss"],
                best_loss=content["best_loss"],
                stages=tuple(content["stages"]),
            ),
            trade_off=content.get("trade_off", 0.0),  # files of version 0.1.0 say neither
            minimum_of_sums=content.get("minimum_of_sums", False),
            label_loss=content.get("label_loss", 0.0),
            weighed_bound=content.get("weighed_bound"),
        )


def outcome_of(
    records: Records,
    seen: Ints,
    rows: Centers,
    after: Risk,
    *,
    method: str,
    k: int,
    l: int,  # noqa: E741 - l as in l-diversity
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
