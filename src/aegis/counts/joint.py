"""Counts of one column, with the label, and of two attributes together with it: all that a ranking looks at.

Pairs are counted on bounded domains and over a stated sample of rows. Wide domains are put into groups before
that: neighbours of about equal frequency where values have an order, the rare ones together where they have none. That
bounds what a pair table costs, and what it tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Codes, Floats
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import DataError, LabelError, SummaryError
from aegis.masking.transition import Transition
from aegis.plural import count

Counts = NDArray[Any]

_COINCIDENCES = 10.0  # numbers that would meet so often by chance and never do are the numbers of rows


def checked_counts(counts: Counts, shape: tuple[int, ...], *, what: str) -> Counts:
    """``counts`` as they are, or an error that says which rule of counting they break."""
    array = np.asarray(counts)
    if array.shape != shape:
        raise SummaryError(f"{what} has {array.shape} counts where its values need {shape}; write the summary again")
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise SummaryError(f"{what} holds counts that are not finite numbers; write the summary again")
    if (array < 0).any():
        raise SummaryError(f"{what} holds negative counts, which no table gives; write the summary again")
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array


def divisor(counts: Counts) -> NDArray[np.float64]:
    """What may be divided by: the counts where there are records, 1 where there are none (what is divided is then 0).

    >>> divisor(np.array([4, 0, 0.5])).tolist()
    [4.0, 1.0, 0.5]
    """
    return np.where(counts > 0, counts, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Histogram:
    """How often each value of a column occurs, one count per code of the domain."""

    domain: Domain
    counts: Counts

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", checked_counts(self.counts, (self.domain.size,), what="a histogram"))

    @property
    def rows(self) -> float:
        return float(self.counts.sum())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Joint:
    """How often each value of an attribute occurs with each value of the label: attribute down, label across."""

    attribute: Domain
    label: Domain
    counts: Counts

    def __post_init__(self) -> None:
        shape = (self.attribute.size, self.label.size)
        object.__setattr__(self, "counts", checked_counts(self.counts, shape, what="a joint"))

    @property
    def rows(self) -> float:
        return float(self.counts.sum())

    def histogram(self) -> Histogram:
        """The attribute alone."""
        return Histogram(domain=self.attribute, counts=self.counts.sum(axis=1))

    def masked(self, on_attribute: Transition | None = None, on_label: Transition | None = None) -> Joint:
        """The joint of the masked attribute and the masked label, expected counts where a mask draws."""
        counts, attribute, label = self.counts, self.attribute, self.label
        if on_attribute is not None:
            counts, attribute = on_attribute.push(counts, axis=0), on_attribute.target
        if on_label is not None:
            counts, label = on_label.push(counts, axis=1), on_label.target
        return Joint(attribute=attribute, label=label, counts=counts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableCounts:
    """One pass over a table: each attribute with the label, and why some columns were left out."""

    rows: int
    label: str
    label_histogram: Histogram
    joints: Mapping[str, Joint]
    skipped: Mapping[str, str]


def check_filled(columns: Mapping[str, Domain], *, what_to_do: str | None = None) -> None:
    """Raise if some column is missing in every row: most likely it was read wrongly, or is a leftover.

    ``what_to_do`` replaces the usual advice.
    """
    empty = [name for name, domain in columns.items() if not len(domain.values)]
    if empty:
        which = f"column {empty[0]!r} has" if len(empty) == 1 else f"columns {', '.join(map(repr, empty))} have"
        pronoun = "it" if len(empty) == 1 else "them"
        usual = (
            f"drop {pronoun}, or leave {pronoun} out by naming {pronoun} identifying "
            f"(--identifying {','.join(empty)}, or in the roles file)"
        )
        raise DataError(f"{which} no value in any row; {what_to_do or usual}")


def check_classes(label: str, counts: Counts) -> None:
    """Raise if no two rows share a value of the label: it names no classes, and nothing predicts it."""
    if counts.max(initial=0) <= 1:
        raise LabelError(
            f"the label {label!r} has another value in every row, so no two rows are alike; choose a column of classes"
        )


def check_no_numbering(label: str, kind: Kind, numbers: Floats) -> None:
    """Raise if whole numbers or dates, one of each row, are all different where chance would make many of them meet."""
    rows = len(numbers)
    if kind not in (Kind.INTEGER, Kind.DATE) or not rows or len(np.unique(numbers)) < rows:
        return
    span = float(numbers.max() - numbers.min()) + 1.0
    if rows * rows / (2 * span) >= _COINCIDENCES:
        raise LabelError(
            f"the label {label!r} has another value in every row, as numbers of rows have; choose a column to predict"
        )


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
