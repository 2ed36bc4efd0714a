"""What is in a table that somebody should know before deciding anything: marks of missing values, numbers and dates
that are read as text, people with several rows, columns that go together, tell the label or each other, and the shapes
of columns.

Counts are of all rows; what needs rows side by side is read off the first `LOOKED_AT` of them, and says so. Nothing
here holds a value of a record: a mark such as ``?`` is none, and a shape is heights of bars without names.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.arrays import Codes
from aegis.counts.answer import ask
from aegis.data.dataset import Dataset
from aegis.data.kind import Kind
from aegis.data.schema import Notation, Role
from aegis.data.written_values import misfits
from aegis.inspection.first_rows import LOOKED_AT, FirstRows, as_numbers, first_rows
from aegis.inspection.profile import Profile
from aegis.inspection.same_people import exact_codes, pairs_that_share
from aegis.inspection.suggested_role import TRAITS, names_somebody, words_of

SURE_MARKS = ("?", "NA", "N/A", "#N/A", "<NA>", "n/a", "NaN", "nan", "NULL", "null", "(null)", "\\N", "Null")
"""Texts that are no value of anything."""
LIKELY_MARKS = ("-", "--", ".", "..", "none", "None", "missing", "Missing", "unknown", "n.a.", "nil", "*")
"""Texts that may be a value; they are marks where everything else in the column is a number."""
_NUMBER = re.compile(r"^\s*[-+]?\d+([.]\d+)?\s*$")
_COMMA_NUMBER = re.compile(r"^\s*[-+]?\d{1,3}(\.\d{3})*(,\d+)?\s*$|^\s*[-+]?\d+(,\d+)?\s*$")
_DAY_FIRST = re.compile(r"^\s*(\d{1,2})[./-](\d{1,2})[./-](\d{4}|\d{2})\s*$")
_READ_BY = {
    "decimal comma": "decimal_comma",
    "day first": "day_first",
    "month first": "month_first",
    "day or month first": "day_first",
}
_MONTHS = 12
_MOSTLY = 0.97
_SHAPE_BARS = 12
_PAIRS = 100
"""So many pairs of rows must share a value before they say something."""
_AGREE, _BY_CHANCE, _TOLD = 0.99, 0.9, 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """Texts in a column that mean a missing value, and in how many rows one of them stands."""

    column: str
    texts: tuple[str, ...]
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A column of text whose values are something else.

    ``what`` is ``decimal comma`` (numbers), ``day first``, ``month first``, ``day or month first`` or ``short years``
    (dates).
    """

    column: str
    what: str

    @property
    def likely(self) -> str | None:
        """How it would be read, by the name of the option; None where no option reads it."""
        return _READ_BY.get(self.what)


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """A column that looks like naming people who have several rows each.

    ``agree_in`` are the traits by which it was found, where its name does not say so.
    """

    column: str
    people: int
    rows: int
    agree_in: tuple[str, ...] = ()

    @property
    def rows_each(self) -> float:
        return self.rows / max(self.people, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What was noticed; ``shapes`` are heights of bars, 0 to 1, by column; ``rows_looked_at`` says of how many rows.

    ``associations`` are the pairs of columns that go together most.
    """

    marks: tuple[Marks, ...] = ()
    written: tuple[Written, ...] = ()
    people: tuple[People, ...] = ()
    shapes: Mapping[str, tuple[float, ...]]
    rows_looked_at: int
    associations: tuple[Association, ...] = ()


def find(dataset: Dataset, profile: Profile) -> tuple[Findings, FirstRows]:
    """Look at the rows of a table whose columns were counted."""
    table = _fetched(dataset)
    texts = [column.name for column in dataset.schema if column.kind is Kind.TEXT]
    marks = _marks(dataset, table, texts)
    coded = first_rows(table, dataset.schema)
    findings = Findings(
        marks=marks,
        written=_confirmed(_written(table, texts, {mark.column: mark.texts for mark in marks}), dataset, marks),
        people=_people(profile, table, coded),
        shapes={column.name: _shape(table[column.name], column.kind) for column in dataset.schema},
        rows_looked_at=len(table),
        associations=associations(coded.codes),
    )
    return findings, coded


def _fetched(dataset: Dataset) -> pa.Table:
    return ask(dataset.table.limit(LOOKED_AT))


def _marks(dataset: Dataset, table: pa.Table, texts: Sequence[str]) -> tuple[Marks, ...]:
    """Marks of missing values in columns of text, counted in all rows."""
    wanted: dict[str, tuple[str, ...]] = {}
    for name in texts:
        values = [value for value in table[name].combine_chunks().dictionary_encode().dictionary.to_pylist() if value]
        others = [value for value in values if value not in SURE_MARKS and value not in LIKELY_MARKS]
        numbers = sum(1 for value in others if _NUMBER.match(value) or _COMMA_NUMBER.match(value))
        numeric = bool(others) and numbers >= _MOSTLY * len(others)
        wanted[name] = SURE_MARKS + (LIKELY_MARKS if numeric else ())
    if not wanted:
        return ()
    source = dataset.table
    measures = [source[name].isin(list(marks)).sum().name(f"m{n}") for n, (name, marks) in enumerate(wanted.items())]
    answer = ask(source.aggregate(measures))
    marked = []
    for number, (name, marks) in enumerate(wanted.items()):
        rows = int(answer[f"m{number}"][0].as_py() or 0)
        if rows:
            seen = ask(source.filter(source[name].isin(list(marks))).select(mark=source[name]).distinct())
            marked.append(Marks(column=name, texts=tuple(sorted(seen["mark"].to_pylist())), rows=rows))
    return tuple(marked)


def _written(table: pa.Table, texts: Sequence[str], marks: Mapping[str, tuple[str, ...]]) -> tuple[Written, ...]:
    written = []
    for name in texts:
        values = table[name].combine_chunks().dictionary_encode().dictionary.to_pylist()
        present = [value for value in values if value and value not in marks.get(name, ())]
        if len(present) < 2:
            continue
        dates = [match for value in present if (match := _DAY_FIRST.match(value))]
        if all(_COMMA_NUMBER.match(value) for value in present) and any("," in value for value in present):
            written.append(Written(column=name, what="decimal comma"))
        elif len(dates) == len(present):
            written.append(Written(column=name, what=_which_first(dates)))
    return tuple(written)


def _which_first(dates: Sequence[re.Match[str]]) -> str:
    """What comes first in dates: a number above twelve is a day."""
    if any(len(date[3]) == 2 for date in dates):
        return "short years"
    if any(int(date[1]) > _MONTHS for date in dates):
        return "day first"
    return "month first" if any(int(date[2]) > _MONTHS for date in dates) else "day or month first"


def _confirmed(written: Sequence[Written], dataset: Dataset, marks: Sequence[Marks]) -> tuple[Written, ...]:
    """What all rows agree with, and not only the first ones; other engines than the embedded one read no notation."""
    readable = [column for column in written if column.likely is not None]
    if not readable or dataset.backend.name != "duckdb":
        return tuple(column for column in written if column.likely is None)
    notation = Notation(
        **{how: tuple(column.column for column in readable if column.likely == how) for how in _READ_BY.values()}
    )
    missing = sorted({text for mark in marks for text in mark.texts})
    wrong = misfits(dataset.table, notation, missing=missing)
    return tuple(column for column in written if not wrong.get(column.column))


def _people(profile: Profile, table: pa.Table, coded: FirstRows) -> tuple[People, ...]:
    """Columns that have fewer values than rows and look identifying, or whose rows agree in what people are."""
    traits = {
        column.name: coded.codes[column.name]
        for column in profile.columns
        if words_of(column.name) & TRAITS and column.name in coded.codes
    }
    people = []
    for column in profile.columns:
        present = profile.rows - column.missing
        if not 20 < column.distinct < 0.98 * present or names_somebody(words_of(column.name)):
            continue  # two people may have one name
        if column.same_as is not None:
            continue  # people are counted by the other one: this may be one number for each of somebody's visits
        if column.mask == "suppress":
            continue  # texts that say something of somebody: two rows with the same one are not one person's
        if (column.role or column.suggested) is Role.IDENTIFYING:
            people.append(People(column=column.name, people=column.distinct, rows=present))
        elif column.role is None and column.name not in traits and column.kind in (Kind.TEXT, Kind.INTEGER):
            agree_in = _agreeing_traits(exact_codes(table[column.name]), traits)
            if len(agree_in) >= 2:
                people.append(People(column=column.name, people=column.distinct, rows=present, agree_in=agree_in))
    return tuple(people)


def _agreeing_traits(column: Codes, traits: Mapping[str, Codes]) -> tuple[str, ...]:
    """The traits in which rows agree that share a value of ``column``, though rows by chance do not.

    Where those are two, such as sex and year of birth, the values are people: a zip code has one city, and not one sex;
    a first name has one sex, and not one year of birth. A trait that says nothing beside another one is not counted.
    """
    first, second = pairs_that_share(column)
    if len(first) < _PAIRS:
        return ()
    agreeing: list[str] = []
    for name, codes in traits.items():
        shares = np.bincount(codes) / len(codes)
        if float(shares @ shares) > _BY_CHANCE or float((codes[first] == codes[second]).mean()) < _AGREE:
            continue
        if not any(_told(codes, traits[other]) for other in agreeing):
            agreeing.append(name)
    return tuple(agreeing)


def _told(codes: Codes, by: Codes) -> bool:
    """Whether one trait is known from the other nearly always."""
    width = int(codes.max()) + 1
    pairs, counts = np.unique(by * width + codes, return_counts=True)
    most = np.zeros(int(by.max()) + 1, dtype=np.int64)
    np.maximum.at(most, pairs // width, counts)
    guessed = np.bincount(codes).max()
    right = most.sum()
    return bool(right - guessed >= _TOLD * (len(codes) - guessed))


def _shape(column: pa.ChunkedArray, kind: Kind) -> tuple[float, ...]:
    """Heights of a few bars: ranges of equal width for numbers and dates, the most common first for others."""
    present = column.drop_null().combine_chunks()
    if not len(present):
        return ()
    counts: NDArray[Any]
    if kind.is_ordered:
        numbers = as_numbers(present)
        low, high = np.quantile(numbers, [0.01, 0.99])
        inside = numbers[(numbers >= low) & (numbers <= high)]
        counts = np.histogram(inside, bins=min(_SHAPE_BARS, max(len(np.unique(inside)), 1)))[0]
    else:
        packed = present.dictionary_encode()
        counts = np.sort(np.bincount(packed.indices.to_numpy(zero_copy_only=False)))[::-1][:_SHAPE_BARS]
    return tuple((counts / max(counts.max(), 1)).round(3).tolist())


_MOST_VALUES = 64
_FEWEST_ROWS = 50
WORTH_SAYING = 0.3
"""Weaker associations are ordinary, and are not shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """Two columns and how strongly they go together: 0 not at all, 1 each tells the other (Cramér's V, corrected)."""

    left: str
    right: str
    strength: float


def associations(columns: Mapping[str, Codes], *, most: int = 12) -> tuple[Association, ...]:
    """The strongest associations of a table, at most so many; columns with a value for every other row are left out.

    Cramér's V with Bergsma's correction: without it, columns of many values would seem to go together by chance.
    """
    few = {name: coded for name, codes in columns.items() if (coded := _few(codes)) is not None}
    pairs = [
        Association(left=left, right=right, strength=round(strength, 3))
        for left, right in itertools.combinations(few, 2)
        if (strength := cramers_v(few[left], few[right])) >= WORTH_SAYING
    ]
    return tuple(sorted(pairs, key=lambda association: -association.strength)[:most])


def cramers_v(left: Codes, right: Codes) -> float:
    """Cramér's V of two columns of codes from 0 on, with Bergsma's correction for chance.

    >>> ones = np.arange(100) % 2
    >>> round(cramers_v(ones, ones), 3), cramers_v(ones, np.arange(100) // 50)
    (1.0, 0.0)
    """
    rows = len(left)
    wide, high = int(right.max(initial=0)) + 1, int(left.max(initial=0)) + 1
    counts = np.bincount(left * wide + right, minlength=wide * high).reshape(high, wide).astype(float)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0))
    square = float((counts**2 / expected).sum() - 1.0)
    height, width = counts.shape
    square = max(0.0, square - (height - 1) * (width - 1) / (rows - 1))
    room = min(side - (side - 1) ** 2 / (rows - 1) for side in (height, width)) - 1
    return 0.0 if room <= 0 else float(np.sqrt(min(1.0, square / room)))


def _few(codes: Codes) -> Codes | None:
    """The codes of the commonest values, the others as one; None where it says nothing or names rows."""
    values, places, counts = np.unique(codes, return_inverse=True, return_counts=True)
    if len(codes) < _FEWEST_ROWS or len(values) < 2 or 2 * len(values) > len(codes):
        return None
    if len(values) <= _MOST_VALUES:
        return places.astype(np.int64)
    order = np.argsort(np.argsort(-counts, kind="stable"), kind="stable")
    return np.minimum(order[places], _MOST_VALUES).astype(np.int64)
