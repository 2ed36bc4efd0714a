"""Models that limit a share of all records rather than every class: as few classes as needed stand in the way."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from aegis.counts.class_table import ClassTable
from aegis.privacy.model import ROUNDING, Model, Scores
from aegis.privacy.verdict import Verdict


class ShareModel(Model):
    """A model on the mean over records of a risk that every record of a class shares."""

    __slots__ = ()

    @abstractmethod
    def risks(self, table: ClassTable) -> Scores:
        """The risk of a record of each class, from 0 to 1."""

    def judge(self, table: ClassTable) -> Verdict:
        risks = self.risks(table)
        if not len(risks):
            return self.verdict(table, value=None, failing=np.zeros(0, dtype=bool))
        value = float(risks @ table.sizes / table.records)
        return self.verdict(table, value=value, failing=self._fewest(table, risks))

    def _fewest(self, table: ClassTable, risks: Scores) -> NDArray[np.bool_]:
        """The riskiest classes (of equal ones the smallest first) without which the rest keeps the threshold."""
        failing = np.zeros(table.classes, dtype=bool)
        order = np.lexsort((table.sizes, -risks))
        expected = np.concatenate([[0.0], np.cumsum(risks[order] * table.sizes[order])])
        records = np.concatenate([[0], np.cumsum(table.sizes[order])])
        left = np.maximum(records[-1] - records, 1)
        enough = (expected[-1] - expected) / left <= self.threshold + ROUNDING
        enough[-1] = True
        failing[order[: int(enough.argmax())]] = True
        return failing
