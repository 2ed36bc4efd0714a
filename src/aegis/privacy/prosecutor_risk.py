"""The chance to find somebody whom the attacker knows to be in the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from aegis.counts.class_table import ClassTable
from aegis.privacy.model import MODELS, ClassModel, Scores, check_number
from aegis.privacy.verdict import Bound


@MODELS.register("prosecutor-risk")
@dataclass(frozen=True, slots=True, kw_only=True)
class ProsecutorRisk(ClassModel):
    """Nobody known to be in the table is found with a chance above the limit: 1 / size of every class."""

    limit: float

    name: ClassVar[str] = "prosecutor-risk"
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
        return 1.0 / table.sizes
