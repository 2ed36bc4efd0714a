"""What a further column holds in each equivalence class: its values and how often each occurs there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Codes
from aegis.counts.grouping import ROOM, appended, bounds_of_each, group_keys, in_order, summed, width
from aegis.data.domain import Domain
from aegis.errors import SummaryError
from aegis.masking.transition import Partition


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

    def fingerprints(self) -> NDArray[np.uint64]:
        """A number for each class that is the same where the same values occur as often, and else another."""
        key = (self.values.astype(np.uint64) << np.uint64(32)) + self.counts.astype(np.uint64)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64: every bit reaches all
            key = (key ^ (key >> np.uint64(shift))) * np.uint64(factor)
        return np.add.reduceat(key ^ (key >> np.uint64(31)), self.starts[:-1])

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

    @classmethod
    def arranged(
        cls,
        *,
        domain: Domain,
        keys: Codes,
        key_width: int,
        values: Codes,
        counts: Codes,
        overwrite: bool = False,
    ) -> tuple[Content, Codes] | None:
        """From entries in any order, repeated ones too, and the distinct keys in order: one class for each.

        ``overwrite`` says that the caller has no more use for ``keys``. None where a key of so many bits, a value and
        a count do not fit into one number. Where they do, one sort of that number gives everything; otherwise
        `grouped` is the way.
        """
        value_width, count_width = width(domain.size), width(int(counts.max(initial=0)) + 1)
        if key_width + value_width + count_width > 63:
            return None
        entries = in_order(appended(keys if overwrite else keys.copy(), [(values, value_width), (counts, count_width)]))
        counts = entries & ((1 << count_width) - 1)
        entries >>= count_width
        if (entries[1:] == entries[:-1]).any():
            repeated = bounds_of_each(entries)[:-1]
            entries, counts = entries[repeated], np.add.reduceat(counts, repeated)
        values = entries & ((1 << value_width) - 1)
        entries >>= value_width
        starts = bounds_of_each(entries)
        content = cls(
            domain=domain, starts=starts, values=values, counts=counts, totals=summed(counts, values, domain.size)
        )
        return content, entries[starts[:-1]]

    @property
    def sizes(self) -> Codes:
        """How many records each class holds."""
        if len(self.starts) > len(self.values):
            return self.counts
        return np.add.reduceat(self.counts, self.starts[:-1])

    @property
    def owners(self) -> Codes:
        """The class of each entry."""
        if len(self.starts) > len(self.values):
            return np.arange(len(self.values))
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @property
    def distinct(self) -> Codes:
        """How many different values each class holds."""
        return np.diff(self.starts)

    def per_class(self, entries: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum over each class of a number per entry."""
        if len(self.starts) > len(self.values):  # one entry a class
            return entries.astype(np.float64)
        return np.add.reduceat(entries, self.starts[:-1])

    def largest(self, entries: NDArray[np.float64]) -> NDArray[np.float64]:
        """The maximum over each class of a number per entry."""
        if len(self.starts) > len(self.values):
            return entries.astype(np.float64)
        return np.maximum.reduceat(entries, self.starts[:-1])

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

    def selected(self, classes: Codes) -> Content:
        """Some of the classes, by position; the reference stays that of all."""
        lengths = self.distinct[classes]
        starts = np.zeros(len(classes) + 1, dtype=np.int64)
        np.cumsum(lengths, out=starts[1:])
        entries = np.arange(starts[-1]) + np.repeat(self.starts[classes] - starts[:-1], lengths)
        return replace(self, starts=starts, values=self.values[entries], counts=self.counts[entries])

    def one_value_each(self) -> Content:
        """A class for every code of the domain that holds nothing else, beside the same reference."""
        codes = np.arange(self.domain.size)
        return replace(self, starts=np.arange(self.domain.size + 1), values=codes, counts=np.ones_like(codes))

    def together(self) -> Content:
        """The content of all classes as one."""
        counts = summed(self.counts, self.values, self.domain.size)
        values = np.flatnonzero(counts)
        starts = np.array([0, len(values)] if len(values) else [0])
        return replace(self, starts=starts, values=values, counts=counts[values])

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
