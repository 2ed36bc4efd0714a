"""What a further column holds in each equivalence class: its values and how often each occurs there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from aegis.data.domain import Domain
from aegis.errors import SummaryError
from aegis.masking.partition import Partition
from aegis.summaries.grouping import ROOM, Codes, group_keys, summed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Content:
    """The values of one column in each class, as a sparse matrix: only what occurs is stored.

    The entries of class i are ``values[starts[i]:starts[i + 1]]`` (codes of ``domain``, ascending) with their
    ``counts``; every class has at least one. ``totals`` counts each value in the whole published table, the reference
    that t-closeness and its kin compare a class with. ``levels`` is the column's hierarchy where it has one: partitions
    of the domain from fine to coarse, the last with one value.
    """

    domain: Domain
    starts: Codes
    values: Codes
    counts: Codes
    totals: Codes
    levels: tuple[Partition, ...] = ()

    def __repr__(self) -> str:
        return f"Content({self.domain!r}, {len(self.starts) - 1} classes, {len(self.values)} entries)"

    @classmethod
    def grouped(
        cls,
        *,
        domain: Domain,
        owners: Codes,
        values: Codes,
        counts: Codes,
        classes: int,
        totals: Codes | None = None,
        levels: tuple[Partition, ...] = (),
    ) -> Content:
        """From entries in any order, repeated ones too: ``owners`` is the class of each."""
        keys = owners * domain.size + values
        room = classes * domain.size
        if room <= max(ROOM, 4 * len(keys)):
            table = np.bincount(keys, weights=counts, minlength=room)
            distinct = np.flatnonzero(table > 0)  # truth values are scanned faster than numbers
            together = table[distinct].astype(np.int64)
        else:
            distinct, group = group_keys(keys, room)
            together = summed(counts, group, len(distinct))
        kept_owners, kept_values = np.divmod(distinct, domain.size)
        starts = np.zeros(classes + 1, dtype=np.int64)
        np.cumsum(np.bincount(kept_owners, minlength=classes), out=starts[1:])
        if totals is None:
            totals = summed(together, kept_values, domain.size)
        return cls(domain=domain, starts=starts, values=kept_values, counts=together, totals=totals, levels=levels)

    @property
    def owners(self) -> Codes:
        """The class of each entry."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @property
    def distinct(self) -> Codes:
        """How many different values each class holds."""
        return np.diff(self.starts)

    def per_class(self, entries: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum over each class of a number per entry."""
        return np.add.reduceat(entries, self.starts[:-1]) if len(self.starts) > 1 else np.zeros(0)

    def largest(self, entries: NDArray[np.float64]) -> NDArray[np.float64]:
        """The maximum over each class of a number per entry."""
        return np.maximum.reduceat(entries, self.starts[:-1]) if len(self.starts) > 1 else np.zeros(0)

    def dense(self) -> Codes:
        """The whole matrix, classes × codes: for small tables."""
        matrix = np.zeros((len(self.starts) - 1, self.domain.size), dtype=np.int64)
        matrix[self.owners, self.values] = self.counts
        return matrix

    def regrouped(self, group: Codes, classes: int) -> Content:
        """The content after the classes were merged: ``group`` is the new class of each old one."""
        return Content.grouped(
            domain=self.domain,
            owners=group[self.owners],
            values=self.values,
            counts=self.counts,
            classes=classes,
            totals=self.totals,
            levels=self.levels,
        )

    def masked(self, partition: Partition) -> Content:
        """The content after the column itself was masked. A hierarchy of the raw values no longer applies."""
        return Content.grouped(
            domain=partition.target,
            owners=self.owners,
            values=partition.codes[self.values],
            counts=self.counts,
            classes=len(self.starts) - 1,
            totals=summed(self.totals, partition.codes, partition.target.size),
        )

    def first(self, classes: int, *, new_reference: bool) -> Content:
        """The first classes only; the reference stays that of all unless a new one is asked for."""
        end = int(self.starts[classes])
        values, counts = self.values[:end], self.counts[:end]
        totals = summed(counts, values, self.domain.size) if new_reference else self.totals
        return replace(self, starts=self.starts[: classes + 1], values=values, counts=counts, totals=totals)

    def with_levels(self, levels: tuple[Partition, ...]) -> Content:
        """The same with a hierarchy, checked: each level merges what the one before left apart, the last merges all."""
        before = Partition.identity(self.domain)
        for level in levels:
            if len(level.codes) != self.domain.size:
                raise SummaryError("a level of the hierarchy does not cover the values of its column; write it again")
            if not before.refines(level):
                raise SummaryError("a level of the hierarchy splits values that a finer one merged; write it again")
            before = level
        if before.target.size > 1:
            raise SummaryError("the last level of a hierarchy must hold one value only; add the level '*'")
        return replace(self, levels=levels)
