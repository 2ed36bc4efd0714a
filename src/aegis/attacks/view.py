"""The rows that an attacker holds, each cell read as what it says of the true value; and two tables linked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aegis.arrays import Codes
from aegis.attacks.reading import Reading
from aegis.counts.grouping import group_rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReadColumn:
    """A column of rows: ``codes`` say which of the ``texts`` stands in each row, ``reading`` what that means."""

    texts: tuple[str | None, ...]
    codes: Codes
    reading: Reading


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class View:
    """Rows with the columns that can be held against the true table."""

    rows: int
    columns: Mapping[str, ReadColumn]
    derived: tuple[str, ...] = ()
    """Columns that no table has and an attacker works out for everybody, such as who is hidden."""

    def __repr__(self) -> str:
        return f"View({self.rows} rows, {len(self.columns)} columns)"

    def telling(self, names: Iterable[str] | None = None) -> tuple[str, ...]:
        """Those of the named columns (of all) that rule something out."""
        listed = self.columns if names is None else names
        return tuple(name for name in listed if name in self.columns and self.columns[name].reading.tells)

    def with_column(self, name: str, column: ReadColumn) -> View:
        """The same with a column that was worked out."""
        return View(rows=self.rows, columns={**self.columns, name: column}, derived=(*self.derived, name))

    def classes(self, names: Sequence[str]) -> tuple[Codes, Codes]:
        """A row of each class of rows that read alike in the named columns, and the class of every row."""
        if not names or not self.rows:
            return np.zeros(min(self.rows, 1), dtype=np.int64), np.zeros(self.rows, dtype=np.int64)
        codes = np.stack([self.columns[name].codes for name in names], axis=1)
        return group_rows(codes, [len(self.columns[name].texts) for name in names])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Links:
    """Rows of two tables that are of one person: ``first[i]`` and ``second[i]`` belong together."""

    first: Codes
    second: Codes

    def __len__(self) -> int:
        return len(self.first)


def link(first: View, second: View) -> Links:
    """Link the rows of two tables by the columns that both leave as they are, and by what the others rule out.

    Two rows are linked where each is the only one that fits the other. Rows that several fit stay unlinked.
    """
    shared = [name for name in first.columns if name in second.columns]
    same = [name for name in shared if _as_it_is(first.columns[name]) and _as_it_is(second.columns[name])]
    rest = [name for name in shared if name not in same]
    nothing = np.zeros(0, dtype=np.int64)
    if not same:
        return Links(first=nothing, second=nothing)
    key = _common_keys(first, second, same)
    ours, theirs = _pairs_of_equal_keys(key[: first.rows], key[first.rows :])
    possible = np.ones(len(ours), dtype=bool)
    for name in rest:
        mine, other = first.columns[name], second.columns[name]
        a, b = mine.codes[ours], other.codes[theirs]
        possible &= mine.reading.low[a] < other.reading.high[b]
        possible &= other.reading.low[b] < mine.reading.high[a]
    ours, theirs = ours[possible], theirs[possible]
    alone = (np.bincount(ours, minlength=first.rows)[ours] == 1) & (
        np.bincount(theirs, minlength=second.rows)[theirs] == 1
    )
    return Links(first=ours[alone], second=theirs[alone])


_MOST_PAIRS = 20_000_000


def _as_it_is(column: ReadColumn) -> bool:
    """Whether most rows show the true value."""
    return bool(column.reading.exact[column.codes].mean() > 0.5) if len(column.codes) else False


def _common_keys(first: View, second: View, names: Sequence[str]) -> Codes:
    """A number for the true values in the named columns, the same in both tables; first's rows, then second's."""
    parts = []
    sizes = []
    for name in names:
        pair = (first.columns[name], second.columns[name])
        # A value that is not shown exactly is told apart from all that are.
        codes = [np.where(c.reading.exact[c.codes], c.reading.low[c.codes], c.reading.size) for c in pair]
        parts.append(np.concatenate(codes))
        sizes.append(pair[0].reading.size + 1)
    return group_rows(np.stack(parts, axis=1), sizes)[1]


def _pairs_of_equal_keys(ours: Codes, theirs: Codes) -> tuple[Codes, Codes]:
    """Every pair of rows with the same key; keys that too many rows share are left out, for they tell nobody apart."""
    groups = int(max(ours.max(initial=-1), theirs.max(initial=-1))) + 1
    mine, other = np.bincount(ours, minlength=groups), np.bincount(theirs, minlength=groups)
    ordered = np.sort(mine * other)
    most = ordered[np.searchsorted(np.cumsum(ordered), _MOST_PAIRS) - 1] if (mine * other).sum() > _MOST_PAIRS else None
    order = np.argsort(theirs, kind="stable")
    begins = np.searchsorted(theirs[order], np.arange(groups))
    pairs = np.arange(len(ours))
    if most is not None:
        pairs = pairs[(mine * other)[ours] <= most]
    lengths = other[ours[pairs]]
    first = np.repeat(pairs, lengths)
    within = np.arange(len(first)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    second = order[begins[ours[first]] + within]
    return first, second


def joined(first: View, second: View) -> View:
    """The rows of ``first``, each with what the row of ``second`` adds that is linked to it."""
    links = link(first, second)
    partner = np.full(first.rows, -1, dtype=np.int64)
    partner[links.first] = links.second
    columns = {}
    for name, own in first.columns.items():
        if name not in second.columns:
            columns[name] = own
            continue
        columns[name] = _met(own, second.columns[name], partner)
    for name, other in second.columns.items():
        if name not in first.columns:
            columns[name] = _added(other, partner)
    return View(rows=first.rows, columns=columns, derived=(*first.derived, *second.derived))


def _met(own: ReadColumn, other: ReadColumn, partner: Codes) -> ReadColumn:
    """What a row says of a column together with its partner."""
    linked = partner >= 0
    theirs = np.where(linked, other.codes[np.maximum(partner, 0)], -1)
    first, group = group_rows(np.stack([own.codes, theirs + 1], axis=1), [len(own.texts), len(other.texts) + 1])
    a, b = own.codes[first], theirs[first]
    both = own.reading.met_with(other.reading, a, np.maximum(b, 0))
    alone = own.reading.met_with(own.reading, a, a)
    low, high = np.where(b >= 0, both.low, alone.low), np.where(b >= 0, both.high, alone.high)
    start = np.where(b >= 0, both.start, np.where(alone.start >= 0, alone.start + len(both.member), -1))
    reading = Reading(
        size=both.size, low=low, high=high, start=start, member=np.concatenate([both.member, alone.member])
    )
    texts = tuple(own.texts[i] for i in a.tolist())
    return ReadColumn(texts=texts, codes=group, reading=reading)


def _added(other: ReadColumn, partner: Codes) -> ReadColumn:
    """A column of the second table on the rows of the first: one without a partner may hold anything."""
    reading = other.reading
    codes = np.where(partner >= 0, other.codes[np.maximum(partner, 0)], len(other.texts))
    return ReadColumn(
        texts=(*other.texts, None),
        codes=codes.astype(np.int64),
        reading=Reading(
            size=reading.size,
            low=np.append(reading.low, 0),
            high=np.append(reading.high, reading.size),
            start=np.append(reading.start, -1),
            member=reading.member,
        ),
    )


def part_of(view: View, rows: Codes) -> View:
    """Some of the rows of a view."""
    columns = {
        name: ReadColumn(texts=column.texts, codes=column.codes[rows], reading=column.reading)
        for name, column in view.columns.items()
    }
    return View(rows=len(rows), columns=columns, derived=view.derived)
