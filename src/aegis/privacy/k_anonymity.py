"""Nobody stands out: every class has at least k records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aegis.counts.class_table import ClassTable
from aegis.privacy.model import MODELS, ClassModel, Scores, check_number
from aegis.privacy.verdict import Bound


@MODELS.register("k-anonymity")
@dataclass(frozen=True, slots=True, kw_only=True)
class KAnonymity(ClassModel):
    """Every class has at least k records."""

    k: int

    name: ClassVar[str] = "k-anonymity"
    bound: ClassVar[Bound] = Bound.AT_LEAST
    reference: ClassVar[str] = "Samarati and Sweeney 1998"

    def __post_init__(self) -> None:
        check_number(self.k, model=self.name, what="k", low=1, whole=True)

    @property
    def threshold(self) -> float:
        return self.k

    @property
    def absorbing(self) -> bool:
        return True

    def scores(self, table: ClassTable) -> Scores:
        return table.sizes.astype(np.float64)
