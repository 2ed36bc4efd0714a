"""The share of records in classes so small that linking is too easy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from aegis.counts.class_table import ClassTable
from aegis.privacy.model import MODELS, Scores, check_number
from aegis.privacy.share_model import ShareModel
from aegis.privacy.verdict import Bound


@MODELS.register("linkage-risk")
@dataclass(frozen=True, slots=True, kw_only=True)
class LinkageRisk(ShareModel):
    """At most a share of the records is at linkage risk: in a class with 1 / size above τ, strictly."""

    tau: float
    share: float = 0.0

    name: ClassVar[str] = "linkage-risk"
    bound: ClassVar[Bound] = Bound.AT_MOST
    reference: ClassVar[str] = "MO-OBAM, section on disclosure risk"

    def __post_init__(self) -> None:
        check_number(self.tau, model=self.name, what="tau", low=0, high=1, low_open=True)
        check_number(self.share, model=self.name, what="share", low=0, high=1)

    @property
    def threshold(self) -> float:
        return self.share

    @property
    def absorbing(self) -> bool:
        return self.share == 0.0  # with a share to spare, which classes stand in the way depends on all of them

    def shown_parameters(self) -> dict[str, Any]:
        return {"tau": self.tau}

    def risks(self, table: ClassTable) -> Scores:
        return (1.0 / table.sizes > self.tau).astype(np.float64)
