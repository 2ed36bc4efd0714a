"""A class tells little about the sensitive value that the whole table does not tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from aegis.counts.class_table import ClassTable
from aegis.errors import PolicyError
from aegis.privacy.distance import DISTANCES, distances
from aegis.privacy.model import MODELS, ClassModel, Scores, check_attribute, check_number, content_of
from aegis.privacy.verdict import Bound


@MODELS.register("t-closeness")
@dataclass(frozen=True, slots=True, kw_only=True)
class TCloseness(ClassModel):
    """In every class the distribution of the attribute is within t of that in the whole table."""

    attribute: str
    t: float
    distance: str = "equal"

    name: ClassVar[str] = "t-closeness"
    bound: ClassVar[Bound] = Bound.AT_MOST
    reference: ClassVar[str] = "Li, Li and Venkatasubramanian 2007"

    def __post_init__(self) -> None:
        check_attribute(self.attribute, model=self.name)
        check_number(self.t, model=self.name, what="t", low=0, high=1)
        if self.distance not in DISTANCES:
            raise PolicyError(f"the distance of {self.name} must be one of {', '.join(DISTANCES)}")

    @property
    def threshold(self) -> float:
        return self.t

    def shown_parameters(self) -> dict[str, Any]:
        return {"distance": self.distance}

    def scores(self, table: ClassTable) -> Scores:
        return distances(content_of(table, self.attribute, model=self.name), self.distance)
