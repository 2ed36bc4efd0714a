"""The chance to find somebody in the table for an attacker who knows the population only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from aegis.counts.class_table import ClassTable
from aegis.privacy.model import MODELS, ClassModel, Scores, check_number
from aegis.privacy.population import population_sizes
from aegis.privacy.verdict import Bound


@MODELS.register("journalist-risk")
@dataclass(frozen=True, slots=True, kw_only=True)
class JournalistRisk(ClassModel):
    """Nobody of the population is found in the table with a chance above the limit: 1 / size in the population.

    Without a population the table is its own, and the risk that of the prosecutor: never less than the true one.
    """

    limit: float

    name: ClassVar[str] = "journalist-risk"
    bound: ClassVar[Bound] = Bound.AT_MOST
    reference: ClassVar[str] = "El Emam and Dankar 2008"

    def __post_init__(self) -> None:
        check_number(self.limit, model=self.name, what="the limit", low=0, high=1, low_open=True)

    @property
    def threshold(self) -> float:
        return self.limit

    @property
    def absorbing(self) -> bool:
        return True

    def scores(self, table: ClassTable) -> Scores:
        return 1.0 / population_sizes(table)
