"""What an anonymizer hands back, and what it reports while it works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from aegis.candidates.clusters.lower_bound import gap_in_words
from aegis.candidates.clusters.risk import Risk

Finished = Literal["done", "time", "rounds", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The state of a search at one moment: the best valid partition so far."""

    stage: str
    seconds: float
    rounds: int
    fraction: float  # of the budget
    information_loss: float
    lower_bound: float
    entropy_bits: float  # sum over sensitive attributes of the smallest class entropy


Listener = Callable[[Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """How the search went."""

    finished: Finished
    rounds: int
    start_loss: float  # of the first valid partition
    best_loss: float  # the smallest known at trade-off 0 with the same k, l and number of classes
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

    @property
    def gap(self) -> str:
        """How near the loss is to what is possible, in words."""
        return gap_in_words(self.information_loss, self.lower_bound or 0.0)
