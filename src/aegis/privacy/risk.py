"""How exposed the records of a table are: the risks of three attackers, the sizes of classes, what is unique."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aegis.counts.class_table import ClassTable
from aegis.privacy.models.risks import population_sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeBand:
    """The classes with ``smallest`` to ``largest`` records (None: no end), how many they are and hold."""

    smallest: int
    largest: int | None
    classes: int
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskSummary:
    """The re-identification risk of a table.

    ``prosecutor`` attacks a person known to be in the table, ``journalist`` any person of the population: the highest
    chance over all records. ``marketer`` attacks all records, and the figure is the share expected to be named
    correctly. Without a population the table counts as its own, and the journalist's risk is the prosecutor's. Where
    the table knows whose records they are, sizes of classes and unique records count people.
    """

    records: int
    classes: int
    smallest_class: int
    median_class: float
    largest_class: int
    unique_records: int
    uniqueness_share: float
    prosecutor: float
    journalist: float
    marketer: float
    has_population: bool
    bands: tuple[SizeBand, ...]

    def as_certificate(self) -> dict[str, Any]:
        """The summary for a JSON document."""
        names = [name for name in self.__slots__ if name != "bands"]
        bands = [{name: getattr(band, name) for name in band.__slots__} for band in self.bands]
        return {**{name: getattr(self, name) for name in names}, "bands": bands}


BANDS = (1, 2, 3, 5, 10, 20, 50, 100, 1000)
"""Where the bands of class sizes start."""


def risk_summary(table: ClassTable, *, bands: Sequence[int] = BANDS) -> RiskSummary:
    """The risks of the records that keep their values: suppressed ones are left out.

    >>> from aegis.data.domain import Domain
    >>> from aegis.data.kind import Kind
    >>> table = ClassTable.from_codes(columns=["age"], domains=[Domain.of(Kind.INTEGER, [20, 30])],
    ...                               codes=np.array([[0], [1]]), counts=np.array([1, 4]))
    >>> summary = risk_summary(table)
    >>> summary.prosecutor, summary.marketer, summary.unique_records
    (1.0, 0.4, 1)
    """
    kept = table.without_star(published=True)
    sizes = kept.persons
    records = kept.records
    if not records:
        sizes = np.zeros(1, dtype=np.int64)
    chances = 1.0 / population_sizes(kept) if records else np.zeros(1)
    unique = int((sizes == 1).sum())
    return RiskSummary(
        records=records,
        classes=kept.classes,
        smallest_class=int(sizes.min()),
        median_class=float(np.median(sizes)),
        largest_class=int(sizes.max()),
        unique_records=unique,
        uniqueness_share=unique / max(int(sizes.sum()), 1),
        prosecutor=float(kept.chances.max()) if records else 0.0,
        journalist=float(chances.max()),
        marketer=float(chances @ sizes) / max(int(sizes.sum()), 1),
        has_population=kept.population is not None,
        bands=_banded(kept, bands),
    )


def _banded(table: ClassTable, starts: Sequence[int]) -> tuple[SizeBand, ...]:
    band = np.searchsorted(np.asarray(starts), table.persons, side="right") - 1
    classes = np.bincount(band, minlength=len(starts))
    records = np.bincount(band, weights=table.sizes, minlength=len(starts))
    ends: list[int | None] = [start - 1 for start in starts[1:]]
    return tuple(
        SizeBand(smallest=start, largest=end, classes=int(c), records=int(r))
        for start, end, c, r in zip(starts, [*ends, None], classes, records, strict=True)
    )
