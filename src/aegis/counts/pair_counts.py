"""Counts of two attributes together with the label, on bounded domains and over a stated sample of rows.

Wide domains are put into groups before they are counted in pairs: neighbours of about equal frequency where values
have an order, the rare ones together where they have none. That bounds what a pair table costs, and what it tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Codes
from aegis.counts.joint import Counts, Histogram
from aegis.errors import SummaryError
from aegis.plural import count

MOST_PAIRED = 100
"""Pairs grow with the square of the attributes: of a wider table so many are paired, those that tell most."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PairCounts:
    """How often each pair of values that occurs does so with each label.

    Row i says: values ``first[i]`` and ``second[i]`` (codes of their domains) occurred ``counts[i, y]`` times with
    label y. Pairs that never occur have no row.
    """

    first: Codes
    second: Codes
    counts: Counts

    def __post_init__(self) -> None:
        if self.counts.ndim != 2 or not (len(self.first) == len(self.second) == len(self.counts)):
            raise SummaryError("pair counts need one row of label counts for each pair of codes; write them again")
        if len(self.counts) and (min(self.first.min(), self.second.min()) < 0 or self.counts.min() < 0):
            raise SummaryError("pair counts hold negative codes or counts; write them again")

    def __repr__(self) -> str:
        return f"PairCounts({len(self.first)} pairs, {self.counts.shape[1]} labels)"

    def dense(self, first: int, second: int) -> NDArray[np.float64]:
        """The same as a full table: ``first`` values down, ``second`` across, labels deep."""
        table = np.zeros((first, second, self.counts.shape[1]))
        table[self.first, self.second] = self.counts
        return table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ValueGroups:
    """Which group each code of a domain is counted in; ``exact`` where every value is a group of its own."""

    codes: Codes
    size: int

    @property
    def exact(self) -> bool:
        return self.size == len(self.codes)

    def __repr__(self) -> str:
        return f"ValueGroups({count(len(self.codes), 'value')} in {count(self.size, 'group')})"

    @classmethod
    def bounded(cls, histogram: Histogram, most: int) -> ValueGroups:
        """At most ``most`` groups; a missing value stays alone.

        >>> from aegis.data.domain import Domain
        >>> from aegis.data.kind import Kind
        >>> ages = Histogram(domain=Domain.of(Kind.INTEGER, range(6)), counts=np.array([5, 1, 1, 1, 1, 1]))
        >>> ValueGroups.bounded(ages, 3).codes.tolist()
        [0, 1, 1, 2, 2, 2]
        """
        if most < 3:
            raise SummaryError("pairs are counted on at least 3 groups of values; raise the limit")
        domain, counts = histogram.domain, np.asarray(histogram.counts, dtype=np.float64)
        if domain.size <= most:
            return cls(codes=np.arange(domain.size), size=domain.size)
        values, room = len(domain.values), most - domain.missing
        if domain.kind.is_ordered:
            middle = np.cumsum(counts[:values]) - counts[:values] / 2
            group = np.minimum((middle * room / max(counts[:values].sum(), 1.0)).astype(np.int64), room - 1)
            codes = np.unique(group, return_inverse=True)[1]
        else:
            codes = np.full(values, room - 1, dtype=np.int64)
            codes[np.sort(np.argsort(-counts[:values], kind="stable")[: room - 1])] = np.arange(room - 1)
        size = int(codes.max()) + 1
        return cls(codes=np.append(codes, [size] * domain.missing).astype(np.int64), size=size + domain.missing)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PairTables:
    """Pair counts of the attributes of a table.

    ``groups`` says how each domain was bounded, ``tables[a, b]`` counts groups of a with groups of b (attributes in
    the order of ``groups``). ``parts[a][p]`` is the joint of a and the label in the p-th of some random parts of the
    sample: how much they differ says how sure a score is. ``left_out`` are attributes of a table so wide that only the
    most telling ones were paired.
    """

    rows: int
    sample_rows: int
    labels: int
    groups: Mapping[str, ValueGroups]
    tables: Mapping[tuple[str, str], PairCounts]
    parts: Mapping[str, NDArray[Any]]
    left_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < self.sample_rows <= self.rows:
            raise SummaryError("pair tables count at least one row and no more than there are; write them again")
        for (a, b), table in self.tables.items():
            if a not in self.groups or b not in self.groups or table.counts.shape[1] != self.labels:
                raise SummaryError(f"the pair table of {a} and {b} does not fit its groups or labels; write it again")

    def __repr__(self) -> str:
        of = f"{count(len(self.groups), 'attribute')}, {count(len(self.tables), 'pair')}"
        return f"PairTables({of}, {count(self.sample_rows, 'row')})"

    @property
    def cells(self) -> int:
        """How many counts there are: what the tables tell, and what they cost to keep."""
        return sum(int(np.count_nonzero(table.counts)) for table in self.tables.values())
