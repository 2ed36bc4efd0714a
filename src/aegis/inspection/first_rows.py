"""The first rows of a table as codes, side by side, with what anybody reads off a value.

That is the weekday of a date, the hour of a time, the first characters of a code. Whoever knows a value knows its
parts, however rare the value is; so a column that follows one of them is known too, however it is written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from aegis.arrays import Codes, Floats
from aegis.counts.answer import plain
from aegis.data.kind import DATES, Kind
from aegis.data.schema import Schema

LOOKED_AT = 10_000
"""Shapes, formats and dependencies are read off so many rows."""
_BINS, _ROWS_A_BIN = 64, 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FirstRows:
    """The first rows of a table, every column as small codes; numbers and dates in ranges of equally many rows.

    ``exact`` has a code for each value of the columns that were put into ranges, in the order of the values.
    ``parts`` has a code for each part that anybody reads off a value, by column and part. ``numbers`` are what
    differences are made of: of a date its day, its year, and itself written like 20240229. A missing value has the
    code 0 and is no number.
    """

    rows: int
    codes: Mapping[str, Codes]
    exact: Mapping[str, Codes] = field(default_factory=dict)
    parts: Mapping[str, Parts] = field(default_factory=dict)
    numbers: Mapping[str, Mapping[str, Floats]] = field(default_factory=dict)

    def values(self, column: str) -> Codes:
        """A code for each value of a column."""
        return self.exact.get(column, self.codes[column])


def first_rows(table: pa.Table, schema: Schema) -> FirstRows:
    """The rows of ``table``, which are the first of one with this schema, as codes."""
    codes = {column.name: _codes(table[column.name], column.kind) for column in schema}
    codes = {name: column_codes for name, column_codes in codes.items() if column_codes.max(initial=0) > 0}
    exact, parts, numbers = {}, {}, {}
    for column in schema:
        name, kind = column.name, column.kind
        if name not in codes:
            continue
        packed = table[name].combine_chunks().dictionary_encode()
        indices = _indices(packed)
        if kind.is_ordered:
            in_order = _in_order(packed.dictionary, indices)
            if in_order.max() > codes[name].max():
                exact[name] = in_order
            numbers[name] = {
                measure: _spread(values, indices) for measure, values in _measures(packed.dictionary, kind).items()
            }
        parts[name] = {
            part: np.append(np.unique(values, return_inverse=True)[1] + 1, 0)[indices].astype(np.int64)
            for part, values in parts_of(packed.dictionary, kind).items()
        }
    return FirstRows(rows=len(table), codes=codes, exact=exact, parts=parts, numbers=numbers)


def as_numbers(values: pa.Array) -> Floats:
    """Numbers and dates as numbers in their order."""
    if pa.types.is_temporal(values.type):
        values = values.cast(pa.timestamp("us")).cast(pa.int64())
    # Whole numbers beyond 2^53 lose their last digits: what is made of them are ranges.
    numbers: NDArray[np.float64] = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return numbers


def _indices(packed: pa.DictionaryArray) -> Codes:
    """The place of each row's value in the dictionary; -1 where it is missing."""
    indices: Codes = pc.fill_null(packed.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return indices


def _codes(column: pa.ChunkedArray, kind: Kind) -> Codes:
    """Small codes; 0 is a missing value where there is one. Ordered values are put into ranges if they are many."""
    packed = column.combine_chunks().dictionary_encode()
    indices = _indices(packed)
    bins = min(_BINS, max(len(indices) // _ROWS_A_BIN, 2))
    if kind.is_ordered and len(packed.dictionary) > bins:
        ranks = np.argsort(np.argsort(as_numbers(packed.dictionary)))
        order = np.where(indices >= 0, ranks[indices], -1)
        present = np.sort(order[order >= 0])
        edges = np.unique(present[np.linspace(0, len(present) - 1, bins + 1).astype(int)[1:-1]])
        binned = np.searchsorted(edges, order, side="right") + 1
        return np.where(order >= 0, binned, 0)
    return indices + 1


def _in_order(values: pa.Array, indices: Codes) -> Codes:
    """A code for every value of numbers or dates, a smaller one for a smaller value; 0 is a missing one."""
    ranks = np.argsort(np.argsort(as_numbers(values), kind="stable"), kind="stable") + 1
    return np.where(indices >= 0, ranks[indices], 0).astype(np.int64)


def _measures(values: pa.Array, kind: Kind) -> dict[str, Floats]:
    numbers = as_numbers(values)
    if kind not in DATES:
        return {"": numbers}
    parts = of_times(numbers.astype("datetime64[us]"))
    written = 10_000 * parts["year"] + 100 * parts["month"] + parts["day of month"]
    return {"": numbers / 86_400e6, "year": parts["year"].astype(np.float64), "date": written.astype(np.float64)}


def _spread(values: Floats, indices: Codes) -> Floats:
    return np.append(values, np.nan)[indices]


Parts = dict[str, Codes]
"""Codes by the name of the part, a code for every value: equal where the part is, smaller where it is smaller."""

_MOSTLY = 0.97
_LONGEST_CODE = 32
"""Texts that are longer on average are no codes: their beginnings say nothing."""
_ENDS = range(1, 9)
_REMAINDERS = {2: "parity", 7: "remainder by 7", 10: "last digit", 12: "remainder by 12", 100: "last two digits"}
_TIME = re.compile(r"^\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*$")
_WRITTEN_DATE = re.compile(r"^\s*(\d{1,2})[./-](\d{1,2})[./-](\d{4}|\d{2})\s*$")
_FIRST_DATE, _LAST_DATE = 1800_01_01, 2199_12_31
_DAY, _HOUR, _MINUTE = "datetime64[D]", "timedelta64[h]", "timedelta64[m]"


def parts_of(values: pa.Array, kind: Kind) -> Parts:
    """The parts of distinct values that are present; parts that say nothing or as much as the value are left out."""
    if not len(values):
        return {}
    if kind in DATES:
        parts = of_times(plain(values).astype("datetime64[us]"))
    elif kind is Kind.INTEGER:
        parts = _of_integers(plain(values))
    elif kind is Kind.TEXT:
        parts = _of_texts(values.cast(pa.string()).to_pylist())
    else:
        parts = {}
    return {name: codes for name, codes in parts.items() if 1 < len(np.unique(codes)) < len(values)}


def of_times(times: NDArray[np.datetime64]) -> Parts:
    """The parts of dates and times.

    >>> {name: int(codes[0]) for name, codes in of_times(np.array(["2024-02-29T10:30"], "datetime64[us]")).items()}
    {'year': 2024, 'month': 2, 'day of month': 29, 'day of year': 60, 'weekday': 3, 'ISO week': 9, 'week': 8, \
'date': 19782, 'hour': 10, 'minute': 30, 'second': 0, 'time of day': 630, 'hour of the week': 82}
    """
    days = times.astype(_DAY)
    months, years = days.astype("datetime64[M]"), days.astype("datetime64[Y]")
    number = days.astype(np.int64)
    day_of_year = (days - years.astype(_DAY)).astype(np.int64) + 1
    weekday = (number + 3) % 7  # the epoch began on a Thursday; Monday is 0
    thursday = days + (3 - weekday).astype("timedelta64[D]")  # the year of a week is that of its Thursday
    iso_week = (thursday - thursday.astype("datetime64[Y]").astype(_DAY)).astype(np.int64) // 7 + 1
    minutes = (times - days).astype(_MINUTE).astype(np.int64)
    return {
        "year": years.astype(np.int64) + 1970,
        "month": months.astype(np.int64) % 12 + 1,
        "day of month": (days - months.astype(_DAY)).astype(np.int64) + 1,
        "day of year": day_of_year,
        "weekday": weekday,
        "ISO week": iso_week,
        "week": (day_of_year + 6 - (weekday + 1) % 7) // 7,  # counted from the first Sunday
        "date": number,
        "hour": minutes // 60,
        "minute": minutes % 60,
        "second": times.astype("datetime64[s]").astype(np.int64) % 60,
        "time of day": minutes,
        "hour of the week": weekday * 24 + minutes // 60,
    }


def _of_integers(values: NDArray[np.int64]) -> Parts:
    parts: Parts = {name: values % by for by, name in _REMAINDERS.items()}
    if ((values >= _FIRST_DATE) & (values <= _LAST_DATE)).all():
        text = np.char.mod("%d", values)
        written = [f"{digits[:4]}-{digits[4:6]}-{digits[6:]}" for digits in text.tolist()]
        parts |= _of_written(written)
    return parts


def _of_texts(texts: Sequence[str]) -> Parts:
    if np.mean([len(text) for text in texts]) > _LONGEST_CODE:
        return {}
    parts: Parts = {}
    for length in _ENDS:
        parts[f"first {length} characters" if length > 1 else "first character"] = _ranks([t[:length] for t in texts])
        parts[f"last {length} characters" if length > 1 else "last character"] = _ranks([t[-length:] for t in texts])
    times = [_TIME.match(text) for text in texts]
    if _most(times):
        hours = np.array([int(time[1]) if time else -1 for time in times])
        minutes = np.array([int(time[2]) if time else -1 for time in times])
        return parts | {"hour": hours, "minute": minutes, "time of day": 60 * hours + minutes}
    dates = [_WRITTEN_DATE.match(text) for text in texts]
    if _most(dates):
        for order, (day, month) in (("day first", (1, 2)), ("month first", (2, 1))):
            written = [
                f"{date[3] if len(date[3]) == 4 else '20' + date[3]}-{date[month]:0>2}-{date[day]:0>2}" if date else ""
                for date in dates
            ]
            parts |= {f"{name}, {order}": codes for name, codes in _of_written(written).items()}
    return parts


def _most(matches: Sequence[object]) -> bool:
    return sum(match is not None for match in matches) >= _MOSTLY * len(matches)


def _of_written(dates: Sequence[str]) -> Parts:
    """The parts of dates in the order of ISO 8601; nothing where many are none."""
    read = np.array([_date(text) for text in dates], dtype="datetime64[us]")
    present = ~np.isnat(read)
    if present.sum() < _MOSTLY * len(read):
        return {}
    parts = of_times(read[present])
    filled = {name: np.full(len(read), codes.min() - 1, dtype=np.int64) for name, codes in parts.items()}
    for name, codes in parts.items():
        filled[name][present] = codes
    return filled


def _date(text: str) -> np.datetime64:
    try:
        return np.datetime64(text, "D")
    except ValueError:
        return np.datetime64("NaT")


def _ranks(texts: Sequence[str]) -> Codes:
    ranks: Codes = np.unique(np.array(texts, dtype=str), return_inverse=True)[1].astype(np.int64)
    return ranks
