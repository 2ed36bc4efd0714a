"""What anybody reads off a value: the weekday of a date, the hour of a time, the first characters of a code.

Whoever knows a value knows its parts, however rare the value is; so a column that follows one of them is known too,
however it is written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.arrays import Codes
from aegis.counts.answer import plain
from aegis.data.kind import DATES, Kind

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
        written = [f"{each[:4]}-{each[4:6]}-{each[6:]}" for each in text.tolist()]
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
