"""Further rows of rare labels, for goals that count labels alike.

Balanced accuracy and AUC do not depend on how common a label is among the rows that test, so these may hold more rows
of a rare one than the table's share. What is learnt must come from rows as the table has them, or models would take
the rare label to be common. So a part of the sample is drawn whatever the label is, trains and tests; the other part
are rows of rare labels, which only test.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from aegis.counts.joint import Histogram
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.learners.target import Codes, Floats, Places

AT_RANDOM = 0.7
"""At least this share of the sample is drawn whatever the label is: models learn from these rows alone."""
WORTH_IT = 0.8
"""Rows are drawn by label where the variance that rows leave comes down to this share of what it is without."""
_STEPS = 60


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Drawing:
    """How many rows of each label are drawn: ``at_random`` those that come whatever the label is, ``wanted`` all."""

    domain: Domain
    in_table: Floats
    at_random: Floats
    wanted: Floats

    def __repr__(self) -> str:
        return f"Drawing({self.at_random.sum():.0f} of {self.wanted.sum():.0f} rows at random)"

    @classmethod
    def of(cls, label: Histogram, *, most_rows: int) -> Self | None:
        """How ``most_rows`` are drawn best for a label as it was counted; None where drawing at random does as well.

        >>> rare = Histogram(domain=Domain.of(Kind.TEXT, ["no", "yes"]), counts=np.array([97_000, 3_000]))
        >>> Drawing.of(rare, most_rows=20_000)
        Drawing(17526 of 20000 rows at random)
        """
        domain = label.domain
        if domain.kind not in (Kind.INTEGER, Kind.TEXT, Kind.BOOLEAN) or domain.discretised:
            return None  # whether a value is that of a class is asked of the engine, which these answer exactly
        in_table = label.counts[: len(domain.values)].astype(np.float64)
        if len(in_table) < 2 or in_table.min() <= 0 or in_table.sum() <= most_rows:
            return None
        shares = in_table / in_table.sum()

        def wanted(rows: float, level: float) -> Floats:
            """Rows at random, and so many more of each label that it comes to ``level``, if the table has them."""
            return np.maximum(shares * rows, np.minimum(in_table, level))

        rows = _largest(lambda rows: wanted(rows, rows * shares.max()).sum() <= most_rows, most_rows)
        level = rows * shares.max()
        if rows < AT_RANDOM * most_rows:
            rows = AT_RANDOM * most_rows
            level = _largest(lambda level: wanted(rows, level).sum() <= most_rows, rows)
        found = np.floor(wanted(rows, level))
        if (1.0 / found).sum() > WORTH_IT * (1.0 / (most_rows * shares)).sum():
            return None
        return cls(domain=domain, in_table=in_table, at_random=np.round(shares * rows), wanted=found)

    @property
    def share_at_random(self) -> float:
        """The share of all rows that is drawn whatever their label is."""
        return float(self.at_random.sum() / self.in_table.sum())

    @property
    def rare_shares(self) -> dict[Any, float]:
        """The share of its rows that is drawn of each value that has further ones."""
        rare = np.flatnonzero(self.wanted > self.at_random + 1.0)
        values, shares = self.domain.values.tolist(), self.wanted / self.in_table
        return {values[label]: float(shares[label]) for label in rare}

    def arranged(self, order: Places, label_codes: Codes, label_domain: Domain) -> tuple[Places, int]:
        """Rows in their ``order``, those that stand for the table before the further ones; how many these are."""
        class_of = np.searchsorted(self.domain.values, label_domain.values)
        labels = class_of[label_codes[order]]
        place = np.empty(len(order), dtype=np.int64)  # which of its label a row is
        for label in range(len(self.wanted)):
            of_label = labels == label
            place[of_label] = np.arange(of_label.sum())
        at_random = place < self.at_random[labels]
        further = ~at_random & (place < self.wanted[labels])
        return np.concatenate([order[at_random], order[further]]), int(further.sum())


def _largest(holds: Callable[[float], bool], most: float) -> float:
    """The largest number up to ``most`` for which something holds that holds for small ones."""
    low, high = 0.0, most
    if holds(high):
        return high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
