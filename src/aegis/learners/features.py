"""Columns of codes as the learners see them: bins in an order for the trees, numbers and indicators for the line.

==================================  =============================  ==============================================
masked column                       for trees                      for the line
==================================  =============================  ==============================================
numbers, dates, times               bins in their order            one scaled number
intervals ``[a, b)``, ``3*``        bins in their order            one scaled number, the middle
anything else                       bins in the order of their     one indicator per value; rare values share one
                                    share of the label
a missing or starred value          a bin of its own, the first    an indicator of its own, and the mean
==================================  =============================  ==============================================

What must be learnt of a column (shares, means, which values are rare) is learnt from its training rows alone. A column
that is the same in all training rows says nothing and is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.data.published_values import Interval
from aegis.learners.target import Codes, Floats, Places, Target

Bins = NDArray[np.uint8]
Levels = NDArray[np.uint8]
T = TypeVar("T", bound=np.generic)

MOST_BINS, FEWEST_BINS, ROWS_A_BIN = 128, 16, 24
"""A column of many values is cut into bins of so many training rows, within these limits: a finer cut would rest on
too few of them, and every bin costs."""
LEAST_ROWS = 10
"""A category that fewer training rows have shares its bin and its indicator with the other rare ones."""
MOST_LEVELS = 40
_STARRED = re.compile(r"^(-?\d+)(\*+)$")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CodedColumn:
    """What the codes of a column stand for: so many values, with a number each if they are ordered.

    ``numbers`` is None for categories; a code that is no number among numbers (missing, starred) has NaN.
    """

    size: int
    numbers: Floats | None = None

    def __post_init__(self) -> None:
        if self.numbers is not None and self.numbers.shape != (self.size,):
            raise ValueError("an ordered column has one number per code")

    def __repr__(self) -> str:
        return f"CodedColumn({self.size} codes{', ordered' if self.numbers is not None else ''})"

    @classmethod
    def of(cls, domain: Domain, *, more: int = 0) -> CodedColumn:
        """The codes of a domain, and so many ``more`` after them that are no values of it (a star)."""
        numbers = as_numbers(domain)
        if numbers is None:
            return cls(size=domain.size + more)
        return cls(size=domain.size + more, numbers=np.append(numbers, [np.nan] * (domain.missing + more)))

    @cached_property
    def order(self) -> Places | None:
        """The codes by their numbers, those that are none first."""
        if self.numbers is None:
            return None
        return np.argsort(np.where(np.isnan(self.numbers), -np.inf, self.numbers), kind="stable")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PreparedColumn:
    """One column of a split, ready for every learner: training rows and test rows.

    ``numbers`` are None where the column is of categories; ``levels`` says which of its ``level_count`` indicators
    each row has, and is None where there are none.
    """

    bins: tuple[Bins, Bins]
    bin_count: int
    ordered: bool
    numbers: tuple[Floats, Floats] | None
    levels: tuple[Levels, Levels] | None
    level_count: int


class SplitColumn:
    """A column's codes in the training and the test rows of one split; prepared once, however many tables share it."""

    __slots__ = ("_prepared", "column", "testing", "training")

    def __init__(self, column: CodedColumn, *, training: Codes | Places, testing: Codes | Places) -> None:
        self.column, self.training, self.testing = column, training, testing
        self._prepared: tuple[Target, PreparedColumn | None] | None = None

    def __repr__(self) -> str:
        return f"SplitColumn({self.column!r}, {len(self.training)} training and {len(self.testing)} test rows)"

    def prepared(self, target: Target) -> PreparedColumn | None:
        """Ready for learners of ``target``, the label of the training rows; None if it is the same in all of them."""
        if self._prepared is None or self._prepared[0] is not target:
            # Wide, as numpy looks up with: it would make them so at every look.
            training, testing = self.training.astype(np.int64, copy=False), self.testing.astype(np.int64, copy=False)
            self._prepared = target, _prepare(self.column, training, testing, target)
        return self._prepared[1]


class SplitProtocol(StrEnum):
    """What a candidate is tested on, in words."""

    MASKED = "test rows are masked as the training rows are"
    REAL = "the table trains, real rows test"
    OWN = "split inside itself"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Split:
    """What a learner trains on, and the rows it is asked about: the same columns, the label of the training rows.

    ``own_target`` is the label of the test rows where these are not those that the race asked for; ``real_test_rows``
    says that they are, as they are, whatever the training rows became. ``apart`` are the places of those test rows that
    had no say in how this was made, where others had: only they count, and another draw counts the others.
    """

    columns: tuple[SplitColumn, ...]
    target: Target
    test_rows: int
    own_target: Target | None = None
    real_test_rows: bool = False
    apart: Places | None = None

    def __post_init__(self) -> None:
        for column in self.columns:
            if len(column.training) != len(self.target) or len(column.testing) != self.test_rows:
                raise ValueError("every column of a split has a code for each training row and each test row")

    def __repr__(self) -> str:
        return f"Split({len(self.columns)} columns, {len(self.target)} training and {self.test_rows} test rows)"

    @property
    def protocol(self) -> SplitProtocol:
        """What the candidate is tested on."""
        if self.own_target is not None:
            return SplitProtocol.OWN
        return SplitProtocol.REAL if self.real_test_rows else SplitProtocol.MASKED

    @cached_property
    def is_of_one_class(self) -> bool:
        """Whether all training rows have the same label."""
        return bool(self.target.classes and np.count_nonzero(self.target.shares()) < 2)

    @cached_property
    def from_centre(self) -> Split:
        """The same with the label counted from its centre."""
        centre = self.target.centre
        return replace(self, target=Target.of_numbers(self.target.numbers - centre)) if centre else self

    @cached_property
    def prepared(self) -> tuple[PreparedColumn, ...]:
        """The columns that say something, ready for the learners."""
        prepared = (column.prepared(self.target) for column in self.columns)
        return tuple(column for column in prepared if column is not None)

    @cached_property
    def bin_counts(self) -> Places:
        return np.array([column.bin_count for column in self.prepared], dtype=np.int64)

    @cached_property
    def ordered(self) -> NDArray[np.bool_]:
        """Which columns have an order of their own, and not that of their shares of the label."""
        return np.array([column.ordered for column in self.prepared], dtype=np.bool_)

    @cached_property
    def bins(self) -> tuple[Bins, Bins]:
        """Bins of the training rows and of the test rows, a line for each column."""
        training = _one_below_the_other([column.bins[0] for column in self.prepared])
        return training, _one_below_the_other([column.bins[1] for column in self.prepared])

    @cached_property
    def level_counts(self) -> Places:
        """How many indicators each of the columns has that have some."""
        return np.array([c.level_count for c in self.prepared if c.levels is not None], dtype=np.int64)

    def dense(self, part: int) -> Floats:
        """The scaled numbers of the training part (0) or the test part (1), a line for each column that has some."""
        lines = [column.numbers[part] for column in self.prepared if column.numbers is not None]
        return _one_below_the_other(lines) if lines else np.empty((0, self._rows(part)))

    def levels(self, part: int) -> Levels:
        """The indicator that each row has of the columns of ``level_counts``, a line for each of them."""
        lines = [column.levels[part] for column in self.prepared if column.levels is not None]
        return _one_below_the_other(lines) if lines else np.empty((0, self._rows(part)), dtype=np.uint8)

    def _rows(self, part: int) -> int:
        return self.test_rows if part else len(self.target)


def _one_below_the_other(lines: list[NDArray[T]]) -> NDArray[T]:
    """Arrays of one length as the lines of a table, without what numpy does beside to stack them."""
    return np.concatenate(lines).reshape(len(lines), -1)


def _prepare(column: CodedColumn, training: Places, testing: Places, target: Target) -> PreparedColumn | None:
    counts = np.bincount(training, minlength=column.size)
    if np.count_nonzero(counts) < 2:
        return None
    if column.numbers is None:
        ranks, frequent = _category_ranks(training, counts, target)
        numbers = None
        level_of, levels = _levels(counts, frequent)
    else:
        assert column.order is not None
        ranks = np.empty(column.size, dtype=np.int64)
        ranks[column.order] = np.arange(column.size)
        numbers = _scaled(column.numbers, counts)
        level_of, levels = _special_levels(column.numbers, counts)
    most = min(max(FEWEST_BINS, len(training) // ROWS_A_BIN), MOST_BINS)
    bin_of, bin_count = _bins(ranks, counts, most)
    return PreparedColumn(
        bins=(bin_of.take(training), bin_of.take(testing)),
        bin_count=bin_count,
        ordered=column.numbers is not None,
        numbers=None if numbers is None else (numbers.take(training), numbers.take(testing)),
        levels=None if not levels else (level_of.take(training), level_of.take(testing)),
        level_count=levels,
    )


def _bins(ranks: Places, counts: Places, most: int) -> tuple[Bins, int]:
    """The bin of each code, given its place in the order; one that no training row has goes with the one before."""
    places = int(ranks.max()) + 1
    in_order = np.bincount(ranks, weights=counts, minlength=places)
    seen = in_order > 0
    number = np.cumsum(seen) - 1
    if number[-1] >= most:
        # By the roots of their counts: a value that most rows share would leave one bin for all the others.
        weights = np.sqrt(in_order)
        before = np.cumsum(weights) - weights
        group = np.where(seen, (before * (most / weights.sum())).astype(np.int64), -1)
        reached = np.maximum.accumulate(group)
        number = np.cumsum(np.diff(reached, prepend=-1) > 0) - 1
    number = np.maximum(number, 0)
    return number.astype(np.uint8)[ranks], int(number[-1]) + 1


def _category_ranks(training: Places, counts: Places, target: Target) -> tuple[Places, NDArray[np.bool_]]:
    """The place of each category by its share of the label; rare ones and those never seen share one place."""
    frequent = counts >= LEAST_ROWS
    if target.classes > 2:
        table = np.bincount(training * target.classes + target.labels, minlength=len(counts) * target.classes).reshape(
            -1, target.classes
        )
        standing = _first_direction(table.astype(np.float64))
    else:
        sums = np.bincount(training, weights=target.numbers, minlength=len(counts))
        standing = sums / np.maximum(counts, 1)
    rest = ~frequent
    total = counts[rest].sum()
    standing[rest] = (standing[rest] * counts[rest]).sum() / total if total else np.average(standing, weights=counts)
    # Rounded, so that equal shares stay equal whatever the order in which they were summed.
    return _places(standing.round(12)), frequent


def _places(values: Floats) -> Places:
    """The place of each value among the distinct ones, without what numpy loads and does beside for these."""
    order = values.argsort(kind="stable")
    rising = values[order]
    higher = np.zeros(len(values), dtype=np.int64)
    higher[1:] = rising[1:] != rising[:-1]
    places = np.empty(len(values), dtype=np.int64)
    places[order] = higher.cumsum()
    return places


def _first_direction(table: Floats) -> Floats:
    """Where each category stands along the direction in which the shares of the classes differ most."""
    counts = table.sum(axis=1)
    shares = table / np.maximum(counts, 1.0)[:, None]
    apart = shares - table.sum(axis=0) / counts.sum()
    _, vectors = np.linalg.eigh((apart * counts[:, None]).T @ apart)
    direction = vectors[:, -1]
    return np.asarray(apart @ (direction * np.sign(direction[np.abs(direction).argmax()])))


def _levels(counts: Places, frequent: NDArray[np.bool_]) -> tuple[Levels, int]:
    """The indicator of each category: the commonest have their own, the others share the last."""
    falling = np.argsort(-counts, kind="stable")
    own = falling[frequent[falling]][:MOST_LEVELS]
    level_of = np.full(len(counts), len(own), dtype=np.uint8)
    level_of[own] = np.arange(len(own))
    return level_of, len(own) + 1


def _special_levels(numbers: Floats, counts: Places) -> tuple[Levels, int]:
    """Indicators of the codes that are no numbers: none where no training row has one."""
    special = np.isnan(numbers) & (counts > 0)
    levels = int(special.sum())
    level_of = np.zeros(len(numbers), dtype=np.uint8)
    level_of[special] = np.arange(1, levels + 1)
    return level_of, levels + 1 if levels else 0


def _scaled(numbers: Floats, counts: Places) -> Floats | None:
    """Numbers with mean 0 and variance 1 over the training rows; the mean for codes that are none."""
    present = ~np.isnan(numbers)
    weights, values = counts[present], numbers[present]
    total = weights.sum()
    if total <= 0:
        return None
    mean = weights @ values / total
    spread = np.sqrt(weights @ (values - mean) ** 2 / total)
    if spread <= 1e-12 * max(abs(mean), 1.0):
        return None
    scaled = np.zeros(len(numbers))
    scaled[present] = (values - mean) / spread
    return scaled


def as_numbers(domain: Domain) -> Floats | None:
    """A number for each value of the domain (missing apart), so that masked ones keep their order; None for categories.

    >>> as_numbers(Domain.of(Kind.TEXT, ["[20, 30)", "[30, 40)"])).tolist()
    [25.0, 35.0]
    >>> as_numbers(Domain.of(Kind.TEXT, ["2*", "3*"])).tolist()
    [24.5, 34.5]
    >>> as_numbers(Domain.of(Kind.TEXT, ["(-inf, 20)", "[20, 30)", "[30, inf)"])).tolist()
    [15.0, 25.0, 35.0]
    >>> as_numbers(Domain.of(Kind.TEXT, ["red", "2*"])) is None
    True
    """
    if domain.kind in (Kind.DATE, Kind.TIMESTAMP):
        return domain.values.astype("datetime64[s]").astype(np.int64) / 86_400.0
    if domain.kind is not Kind.TEXT:
        return domain.values.astype(np.float64)
    if not len(domain.values):
        return None
    intervals = []
    for text in domain.values.tolist():
        interval = _interval(text)
        if interval is None:
            return None
        intervals.append(interval)
    return _middles(intervals)


def _interval(text: str) -> Interval | None:
    if starred := _STARRED.match(text):
        lowest = int(starred[1]) * 10 ** len(starred[2])
        return Interval(lowest, lowest + 10 ** len(starred[2]) - 1, True, True)
    return Interval.parse(text)


def _middles(intervals: list[Interval]) -> Floats:
    """The middle of each; one without end is taken to be as wide as the others, or two would meet in a point."""
    low = np.array([interval.low for interval in intervals])
    high = np.array([interval.high for interval in intervals])
    widths = np.sort((high - low)[np.isfinite(high - low)])
    # The median; numpy's own first loads its masked arrays.
    middle = float(widths[(len(widths) - 1) // 2] + widths[len(widths) // 2]) / 2 if len(widths) else 0.0
    width = middle if middle > 0 else 1.0
    low, high = np.where(np.isinf(low), high - width, low), np.where(np.isinf(high), low + width, high)
    return np.where(np.isfinite(low + high), (low + high) / 2, 0.0)
