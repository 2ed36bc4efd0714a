"""Classes are large, and no sensitive value fills one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from aegis.counts.class_table import ClassTable
from aegis.privacy.model import MODELS, ClassModel, Scores, check_attribute, check_number, content_of, shares
from aegis.privacy.verdict import Bound


@MODELS.register("alpha-k-anonymity")
@dataclass(frozen=True, slots=True, kw_only=True)
class AlphaKAnonymity(ClassModel):
    """Every class has at least k records, and no value of the attribute more than the share α of them."""

    attribute: str
    alpha: float
    k: int = 1

    name: ClassVar[str] = "alpha-k-anonymity"
    bound: ClassVar[Bound] = Bound.AT_MOST
    reference: ClassVar[str] = "Wong et al. 2006"

    def __post_init__(self) -> None:
        check_attribute(self.attribute, model=self.name)
        check_number(self.alpha, model=self.name, what="alpha", low=0, high=1, low_open=True)
        check_number(self.k, model=self.name, what="k", low=1, whole=True)

    @property
    def threshold(self) -> float:
        return self.alpha

    def shown_parameters(self) -> dict[str, Any]:
        return {"k": self.k}

    def scores(self, table: ClassTable) -> Scores:
        content = content_of(table, self.attribute, model=self.name)
        return content.largest(shares(content, table.sizes)[0])

    def failing(self, table: ClassTable, scores: Scores) -> NDArray[np.bool_]:
        # Written out: with super() a dataclass with slots would look for a class that slots replaced.
        return ClassModel.failing(self, table, scores) | (table.sizes < self.k)
