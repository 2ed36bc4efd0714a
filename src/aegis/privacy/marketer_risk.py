"""The share of all records that an attacker can expect to name correctly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from aegis.counts.class_table import ClassTable
from aegis.privacy.model import MODELS, Scores, check_number
from aegis.privacy.population import population_sizes
from aegis.privacy.share_model import ShareModel
from aegis.privacy.verdict import Bound


@MODELS.register("marketer-risk")
@dataclass(frozen=True, slots=True, kw_only=True)
class MarketerRisk(ShareModel):
    """On average over the records the chance to be found is at most the limit.

    A record's chance is 1 / the size of its class in the population; without one that makes classes / records.
    """

    limit: float

    name: ClassVar[str] = "marketer-risk"
    bound: ClassVar[Bound] = Bound.AT_MOST
    reference: ClassVar[str] = "Dankar and El Emam 2010"

    def __post_init__(self) -> None:
        check_number(self.limit, model=self.name, what="the limit", low=0, high=1, low_open=True)

    @property
    def threshold(self) -> float:
        return self.limit

    def risks(self, table: ClassTable) -> Scores:
        return 1.0 / population_sizes(table)
