"""The share of records whose class gives a sensitive value away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from aegis.counts.class_table import ClassTable
from aegis.errors import PolicyError
from aegis.privacy.model import MODELS, Scores, check_attribute, check_number, content_of
from aegis.privacy.share_model import ShareModel
from aegis.privacy.verdict import Bound


@MODELS.register("homogeneity-risk")
@dataclass(frozen=True, slots=True, kw_only=True)
class HomogeneityRisk(ShareModel):
    """At most a share of the records is in a class where some sensitive attribute is constant, singletons included."""

    attributes: tuple[str, ...]
    share: float = 0.0

    name: ClassVar[str] = "homogeneity-risk"
    bound: ClassVar[Bound] = Bound.AT_MOST
    reference: ClassVar[str] = "MO-OBAM, section on disclosure risk"

    def __post_init__(self) -> None:
        if not isinstance(self.attributes, tuple) or not self.attributes:
            raise PolicyError(f"{self.name} needs at least one sensitive attribute")
        for attribute in self.attributes:
            check_attribute(attribute, model=self.name)
        check_number(self.share, model=self.name, what="share", low=0, high=1)

    @property
    def threshold(self) -> float:
        return self.share

    @property
    def subject(self) -> str | None:
        return self.attributes[0] if len(self.attributes) == 1 else None

    @property
    def needs(self) -> tuple[str, ...]:
        return self.attributes

    @property
    def absorbing(self) -> bool:
        return self.share == 0.0

    def shown_parameters(self) -> dict[str, Any]:
        return {} if len(self.attributes) == 1 else {"attributes": ", ".join(self.attributes)}

    def risks(self, table: ClassTable) -> Scores:
        constant = np.zeros(table.classes, dtype=bool)
        for attribute in self.attributes:
            constant |= content_of(table, attribute, model=self.name).distinct == 1
        return constant.astype(np.float64)
