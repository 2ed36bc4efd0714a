"""A class spreads the sensitive values as evenly as l equally frequent ones would be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aegis.counts.class_table import ClassTable
from aegis.privacy.model import MODELS, ClassModel, Scores, check_attribute, check_number, content_of
from aegis.privacy.verdict import Bound


@MODELS.register("entropy-l-diversity")
@dataclass(frozen=True, slots=True, kw_only=True)
class EntropyLDiversity(ClassModel):
    """In every class the entropy of the attribute is at least log l.

    The value shown is exp(H) with H in nats, the number of equally frequent values with the same entropy: the same
    number in every base of the logarithm, and comparable with l itself.
    """

    attribute: str
    l: float  # noqa: E741 - the field's own letter

    name: ClassVar[str] = "entropy-l-diversity"
    bound: ClassVar[Bound] = Bound.AT_LEAST
    reference: ClassVar[str] = "Machanavajjhala et al. 2007"

    def __post_init__(self) -> None:
        check_attribute(self.attribute, model=self.name)
        check_number(self.l, model=self.name, what="l", low=1)

    @property
    def threshold(self) -> float:
        return self.l

    def scores(self, table: ClassTable) -> Scores:
        content = content_of(table, self.attribute, model=self.name)
        counts = content.counts.astype(np.float64)
        within = content.per_class(counts * np.log(counts))
        return np.exp(np.maximum(np.log(table.sizes) - within / table.sizes, 0.0))
