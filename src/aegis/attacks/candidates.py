"""Which rows could be whose: the step that every attack by values shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Codes
from aegis.attacks.reading import Reading, is_deterministic
from aegis.attacks.view import ReadColumn, View, part_of
from aegis.compiled import compiled
from aegis.counts.grouping import group_rows
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import DataError
from aegis.masking.mask import Mask
from aegis.masking.masks.suppress import STAR

MOST_PAIRS = 200_000_000


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class People:
    """The true table: ``codes[name][i]`` is the code of person i in ``domains[name]``."""

    count: int
    codes: Mapping[str, Codes]
    domains: Mapping[str, Domain]

    def __repr__(self) -> str:
        return f"People({self.count}, {len(self.codes)} columns)"

    def tuples(self, names: Sequence[str]) -> tuple[Codes, Codes]:
        """The distinct tuples of true codes in the named columns, a line each, and the tuple of every person."""
        if not names:
            return np.zeros((min(self.count, 1), 0), dtype=np.int64), np.zeros(self.count, dtype=np.int64)
        codes = np.stack([self.codes[name] for name in names], axis=1)
        first, group = group_rows(codes, [self.domains[name].size for name in names])
        return codes[first], group


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Candidates:
    """The rows that fit each person in some columns.

    People with equal values share a tuple, rows that read alike a class; ``ends`` and ``listed`` hold for each tuple
    the classes that fit it.
    """

    tuple_of: Codes
    class_of: Codes
    class_rows: Codes
    ends: Codes
    listed: Codes

    @classmethod
    def find(cls, view: View, people: People, names: Sequence[str]) -> Candidates:
        """Hold ``view`` against what is known of ``people``: the true values of the named columns."""
        all_names = dict.fromkeys((*names, *view.derived))
        columns = [name for name in view.telling(all_names) if name in people.codes]
        first, class_of = view.classes(columns)
        targets, tuple_of = people.tuples(columns)
        class_rows = np.bincount(class_of, minlength=len(first))
        if not columns:  # nothing is ruled out
            ends = np.arange(len(targets) + 1) * len(first)
            return cls(
                tuple_of=tuple_of, class_of=class_of, class_rows=class_rows, ends=ends, listed=np.arange(len(first))
            )
        readings = [view.columns[name].reading for name in columns]
        rows = [view.columns[name].codes[first] for name in columns]
        low = np.stack([r.low[c] for r, c in zip(readings, rows, strict=True)], axis=1)
        high = np.stack([r.high[c] for r, c in zip(readings, rows, strict=True)], axis=1)
        offsets = np.cumsum([0, *(len(r.member) for r in readings)])
        start = np.stack(
            [np.where(r.start[c] >= 0, r.start[c] + o, -1) for r, c, o in zip(readings, rows, offsets, strict=False)],
            axis=1,
        )
        member = np.concatenate([r.member for r in readings])
        sizes = np.array([r.size for r in readings])
        width = ((high - low) / sizes).mean(axis=0) if len(first) else np.ones(len(columns))
        pivot = int(width.argmin())
        if width[pivot] * len(first) * len(targets) > 50 * MOST_PAIRS:
            raise DataError(
                f"{len(targets):,} different people and {len(first):,} classes of rows that hardly tell them apart are "
                "too many to be held against each other; attack a sample of the original"
            )
        ends, listed = possible_pairs(targets, low, high, start, member, pivot, int(sizes[pivot]))
        return cls(tuple_of=tuple_of, class_of=class_of, class_rows=class_rows, ends=ends, listed=listed)

    @cached_property
    def tuple_rows(self) -> Codes:
        """How many rows fit each tuple."""
        return self._summed(self.class_rows)

    @property
    def rows(self) -> Codes:
        """How many rows fit each person."""
        return np.asarray(self.tuple_rows[self.tuple_of])

    @cached_property
    def row_of_class(self) -> Codes:
        """A row of each class."""
        row = np.zeros(len(self.class_rows), dtype=np.int64)
        row[self.class_of] = np.arange(len(self.class_of))
        return row

    @cached_property
    def only_row(self) -> Codes:
        """The one row that fits each person; -1 where none or several do."""
        alone = self.tuple_rows == 1
        row = np.full(len(self.tuple_rows), -1, dtype=np.int64)
        fits = self.class_rows[self.listed] > 0
        row_of_listed = self.row_of_class[self.listed]
        owner = np.repeat(np.arange(len(self.tuple_rows)), np.diff(self.ends))
        row[owner[fits]] = row_of_listed[fits]
        row[~alone] = -1
        return np.asarray(row[self.tuple_of])

    def value_counts(self, codes: Codes, size: int) -> Codes:
        """For each tuple, how many of the rows that fit it hold each value of a column; rows hold ``codes``."""
        from scipy.sparse import csr_array

        table = np.bincount(self.class_of * size + codes, minlength=len(self.class_rows) * size)
        classes = table.reshape(len(self.class_rows), size)
        shape = (len(self.tuple_rows), len(self.class_rows))
        fits: Any = csr_array((np.ones(len(self.listed), dtype=np.int64), self.listed, self.ends), shape=shape)
        return np.asarray(fits @ classes)

    def fits(self, people: Codes, rows: Codes) -> NDArray[np.bool_]:
        """Whether each row is among those that fit the person beside it."""
        classes_of_rows = self.class_of[rows]
        owners = self.tuple_of[people]
        classes = len(self.class_rows)
        every = np.repeat(np.arange(len(self.tuple_rows)), np.diff(self.ends)) * classes + self.listed
        keys = owners * classes + classes_of_rows
        ordered = np.sort(every)
        place = np.minimum(np.searchsorted(ordered, keys), max(len(ordered) - 1, 0))
        return np.asarray(ordered[place] == keys) if len(ordered) else np.zeros(len(keys), dtype=bool)

    def _summed(self, weights: Codes) -> Codes:
        total = np.concatenate([[0], np.cumsum(weights[self.listed])])
        return np.asarray(total[self.ends[1:]] - total[self.ends[:-1]])


@compiled
def possible_pairs(
    targets: NDArray[Any],
    low: NDArray[Any],
    high: NDArray[Any],
    start: NDArray[Any],
    member: NDArray[Any],
    pivot: int,
    pivot_size: int,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The classes that each target could be in: where each target's list starts, and the lists one after the other.

    ``targets`` has the true codes, a line each; ``low``, ``high`` and ``start`` what each class allows in each column.
    Every pair would be people times classes: a list of the classes that each value of the ``pivot``, the most telling
    column, leaves possible makes that a small part, and the other columns are looked at until one rules the pair out.
    """
    classes, columns = low.shape
    begins = np.zeros(pivot_size + 1, dtype=np.int64)
    for group in range(classes):
        for code in range(low[group, pivot], high[group, pivot]):
            begins[code + 1] += 1
    begins = np.cumsum(begins)
    by_code = np.empty(begins[-1], dtype=np.int64)
    place = begins[:-1].copy()
    for group in range(classes):
        for code in range(low[group, pivot], high[group, pivot]):
            by_code[place[code]] = group
            place[code] += 1
    ends = np.zeros(len(targets) + 1, dtype=np.int64)
    pairs = np.empty(max(2 * len(targets), 16), dtype=np.int64)
    count = 0
    for target in range(len(targets)):
        code = targets[target, pivot]
        for listed in range(begins[code], begins[code + 1]):
            group = by_code[listed]
            fits = True
            for column in range(columns):
                value = targets[target, column]
                if value < low[group, column] or value >= high[group, column]:
                    fits = False
                    break
                if start[group, column] >= 0 and not member[start[group, column] + value]:
                    fits = False
                    break
            if fits:
                if count == len(pairs):
                    larger = np.empty(2 * len(pairs), dtype=np.int64)
                    larger[:count] = pairs
                    pairs = larger
                pairs[count] = group
                count += 1
        ends[target + 1] = count
    return ends, pairs[:count].copy()


_SHOWN_OR_HIDDEN = Domain.of(Kind.BOOLEAN, [False, True])


def starred_rows(texts: Mapping[str, tuple[tuple[str | None, ...], Codes]], known: Sequence[str]) -> NDArray[np.bool_]:
    """The rows that show a star in every quasi-identifier."""
    columns = [texts[name] for name in known if name in texts]
    rows = len(columns[0][1]) if columns else 0
    starred = np.full(rows, bool(columns))
    for labels, codes in columns:
        starred &= np.array([text == STAR for text in labels], dtype=bool)[codes]
    return starred


def with_hidden(
    name: str,
    view: View,
    people: People,
    *,
    starred: NDArray[np.bool_],
    known: Sequence[str],
    masks: Mapping[str, Mask],
) -> tuple[View, People]:
    """The view and the people with the column that says who is hidden; as they were where nobody can tell."""
    certain = all(is_deterministic(masks[column]) for column in known if column in masks)
    if not certain or not starred.any() or starred.all():
        return view, people
    shown = part_of(view, np.flatnonzero(~starred))
    hidden = (Candidates.find(shown, people, tuple(known)).rows == 0).astype(np.int64)
    column = f"{STAR} {name}"
    reading = Reading(
        size=2,
        low=np.array([0, 1]),
        high=np.array([1, 2]),
        start=np.full(2, -1, dtype=np.int64),
        member=np.zeros(0, dtype=bool),
    )
    read = ReadColumn(texts=("shown", "hidden"), codes=starred.astype(np.int64), reading=reading)
    more = replace(
        people,
        codes={**people.codes, column: hidden},
        domains={**people.domains, column: _SHOWN_OR_HIDDEN},
    )
    return view.with_column(column, read), more
