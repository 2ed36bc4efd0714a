"""The most frequent sensitive value of a class is not too frequent, even when the next l − 2 are ruled out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from aegis.counts.class_table import ClassTable
from aegis.privacy.model import MODELS, ClassModel, Scores, check_attribute, check_number, content_of
from aegis.privacy.verdict import Bound


@MODELS.register("recursive-l-diversity")
@dataclass(frozen=True, slots=True, kw_only=True)
class RecursiveLDiversity(ClassModel):
    """In every class the largest count is below c times the sum of all from the l-th largest on.

    With the counts of a class in falling order r1 ≥ r2 ≥ … the value shown is r1 / (r_l + r_(l+1) + …): the number
    that c must exceed. It is infinite where the class holds fewer than l values.
    """

    attribute: str
    c: float
    l: int  # noqa: E741 - the field's own letter

    name: ClassVar[str] = "recursive-l-diversity"
    bound: ClassVar[Bound] = Bound.BELOW
    reference: ClassVar[str] = "Machanavajjhala et al. 2007"

    def __post_init__(self) -> None:
        check_attribute(self.attribute, model=self.name)
        check_number(self.c, model=self.name, what="c", low=0, low_open=True)
        check_number(self.l, model=self.name, what="l", low=1, whole=True)

    @property
    def threshold(self) -> float:
        return self.c

    def shown_parameters(self) -> dict[str, Any]:
        return {"l": self.l}

    def scores(self, table: ClassTable) -> Scores:
        content = content_of(table, self.attribute, model=self.name)
        falling = content.counts[np.lexsort((-content.counts, content.owners))].astype(np.float64)
        rank = np.arange(len(falling)) - np.repeat(content.starts[:-1], content.distinct)
        tail = content.per_class(np.where(rank >= self.l - 1, falling, 0.0))
        with np.errstate(divide="ignore"):
            return falling[content.starts[:-1]] / tail
