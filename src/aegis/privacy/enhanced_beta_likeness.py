"""No sensitive value becomes much more likely by knowing the class, and frequent ones least of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aegis.counts.class_table import ClassTable
from aegis.privacy.model import MODELS, ROUNDING, ClassModel, Scores, check_attribute, check_number, content_of, shares
from aegis.privacy.verdict import Bound


@MODELS.register("enhanced-beta-likeness")
@dataclass(frozen=True, slots=True, kw_only=True)
class EnhancedBetaLikeness(ClassModel):
    """In every class no value's share q exceeds its share p in the table by more than min(β, −ln p) times p.

    The value shown is the smallest β that the table satisfies; it is infinite where a value exceeds −ln p, which no β
    allows.
    """

    attribute: str
    beta: float

    name: ClassVar[str] = "enhanced-beta-likeness"
    bound: ClassVar[Bound] = Bound.AT_MOST
    reference: ClassVar[str] = "Cao and Karras 2012"

    def __post_init__(self) -> None:
        check_attribute(self.attribute, model=self.name)
        check_number(self.beta, model=self.name, what="beta", low=0, low_open=True)

    @property
    def threshold(self) -> float:
        return self.beta

    def scores(self, table: ClassTable) -> Scores:
        content = content_of(table, self.attribute, model=self.name)
        q, p = shares(content, table.sizes)
        gain = np.maximum(q / p - 1.0, 0.0)
        return content.largest(np.where(gain > ROUNDING - np.log(p), np.inf, gain))
