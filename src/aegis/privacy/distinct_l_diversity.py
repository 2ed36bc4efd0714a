"""A class does not give the sensitive value away: it holds at least l different ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aegis.counts.class_table import ClassTable
from aegis.privacy.model import MODELS, ClassModel, Scores, check_attribute, check_number, content_of
from aegis.privacy.verdict import Bound


@MODELS.register("distinct-l-diversity")
@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctLDiversity(ClassModel):
    """Every class holds at least l different values of the attribute."""

    attribute: str
    l: int  # noqa: E741 - the field's own letter

    name: ClassVar[str] = "distinct-l-diversity"
    bound: ClassVar[Bound] = Bound.AT_LEAST
    reference: ClassVar[str] = "Machanavajjhala et al. 2007"

    def __post_init__(self) -> None:
        check_attribute(self.attribute, model=self.name)
        check_number(self.l, model=self.name, what="l", low=1, whole=True)

    @property
    def threshold(self) -> float:
        return self.l

    @property
    def absorbing(self) -> bool:
        return True

    def scores(self, table: ClassTable) -> Scores:
        return content_of(table, self.attribute, model=self.name).distinct.astype(np.float64)
