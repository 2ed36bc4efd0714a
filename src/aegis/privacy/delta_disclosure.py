"""No sensitive value becomes much more or much less likely by knowing the class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from aegis.counts.class_table import ClassTable
from aegis.errors import PolicyError
from aegis.privacy.model import MODELS, ClassModel, Scores, check_attribute, check_number, content_of, shares
from aegis.privacy.verdict import Bound


@MODELS.register("delta-disclosure")
@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaDisclosure(ClassModel):
    """In every class |ln(q / p)| is below δ for every value, q its share of the class and p its share of the table.

    The definition speaks of every value of the table: one that a class does not hold has q = 0 and an infinite
    logarithm. With ``absent="ignored"`` only the values that a class holds are looked at, as some tools do; that is
    weaker, for learning that somebody does not have a value is learning something, and it is not monotone.
    """

    attribute: str
    delta: float
    absent: str = "counted"

    name: ClassVar[str] = "delta-disclosure"
    bound: ClassVar[Bound] = Bound.BELOW
    reference: ClassVar[str] = "Brickell and Shmatikov 2008"

    def __post_init__(self) -> None:
        check_attribute(self.attribute, model=self.name)
        check_number(self.delta, model=self.name, what="delta", low=0, low_open=True)
        if self.absent not in ("counted", "ignored"):
            raise PolicyError(f"absent of {self.name} must be 'counted' or 'ignored'")

    @property
    def threshold(self) -> float:
        return self.delta

    @property
    def monotone(self) -> bool:
        return self.absent == "counted"

    def shown_parameters(self) -> dict[str, Any]:
        return {"absent": self.absent}

    def scores(self, table: ClassTable) -> Scores:
        content = content_of(table, self.attribute, model=self.name)
        q, p = shares(content, table.sizes)
        scores = content.largest(np.abs(np.log(q / p)))
        if self.absent == "counted":
            scores = np.where(content.distinct < np.count_nonzero(content.totals), np.inf, scores)
        return scores
