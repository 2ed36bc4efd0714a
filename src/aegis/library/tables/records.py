"""Missing values where a method needs a value in every cell: stated, never in silence.

A missing text is a category of its own. A missing number stands at the median of its column: the value that is wrong by
least on average, and the same for everybody, so that it tells nobody apart. An infinite number is missing as well, as
everywhere where a table is read, and that is said. Whoever asked is told which columns were filled, and the table
itself keeps its gaps wherever a column is published as it is.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from aegis.candidates.clusters.records import Records
from aegis.counts.answer import ask
from aegis.counts.collect_classes import codes_of_people
from aegis.data.dataset import Dataset
from aegis.data.kind import DATES, Kind
from aegis.errors import RoleError

MISSING = "(missing)"
"""How a missing text is called where it is a category."""

AT_MEDIAN = "stand at the median of the others (an infinite number counts as missing)"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledColumn:
    """A column with how many of its values were missing, and what stands for them."""

    name: str
    values: int
    by: str

    def sentence(self) -> str:
        """What was done, in words."""
        return f"{self.name}: {self.values:,} missing values {self.by}"


def column_values(column: pa.ChunkedArray, kind: Kind) -> NDArray[Any]:
    """Numbers as numbers, days and times as numbers of days, everything else as text; missing stays missing."""
    if kind.is_number:
        return np.asarray(column.cast(pa.float64()).to_numpy() if column.null_count else column.to_numpy())
    if kind in (Kind.DATE, Kind.TIMESTAMP):
        days = column.to_numpy().astype("datetime64[us]")
        return np.where(np.isnat(days), math.nan, days.astype(np.int64) / 86_400e6)
    values = np.empty(len(column), dtype=object)
    values[:] = column.cast(pa.string()).to_pylist()
    return values


def filled_table(table: pa.Table, names: Collection[str]) -> tuple[pa.Table, tuple[FilledColumn, ...]]:
    """The table with the median in place of missing numbers and dates of these columns; other kinds can be missing."""
    filled = []
    for name in names:
        column = table[name]
        kind = column.type
        whole = pa.types.is_integer(kind) or pa.types.is_temporal(kind)
        number = whole or pa.types.is_floating(kind)
        if not number or not column.null_count or column.null_count == len(column):
            continue
        present = column.drop_null()
        if pa.types.is_date32(kind):
            present = present.cast(pa.int32())
        elif pa.types.is_timestamp(kind):
            present = present.cast(pa.int64())
        middle = float(np.median(present.cast(pa.float64()).to_numpy()))
        value = round(middle) if whole else middle
        filled.append(FilledColumn(name=name, values=column.null_count, by=AT_MEDIAN))
        full = pc.fill_null(column, pa.scalar(value, kind))
        table = table.set_column(table.column_names.index(name), name, full)
    return table, tuple(filled)


def filled_columns(
    columns: Mapping[str, NDArray[Any]],
) -> tuple[dict[str, NDArray[Any]], tuple[FilledColumn, ...]]:
    """The same of columns as numbers and texts, where missing texts become a category; empty ones stay as they are."""
    full_columns, filled = dict(columns), []
    for name, values in columns.items():
        if values.dtype.kind == "f":
            absent = ~np.isfinite(values)
            by = AT_MEDIAN
        elif values.dtype.kind == "O":
            absent = np.fromiter((value is None for value in values), dtype=bool, count=len(values))
            by = "are a category of their own"
        else:
            continue
        if not absent.any() or absent.all():
            continue
        full = values.copy()
        full[absent] = np.median(values[~absent]) if values.dtype.kind == "f" else MISSING
        full_columns[name] = full
        filled.append(FilledColumn(name=name, values=int(absent.sum()), by=by))
    return full_columns, tuple(filled)


STEPS = {Kind.DATE: 1.0, Kind.TIMESTAMP: 1 / 86_400}
"""In days: centres of dates are whole days, those of times whole seconds."""


def read_records(
    dataset: Dataset,
    *,
    quasi: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    categorical: Sequence[str] = (),
    rows: pa.Table | None = None,
    person: str | None = None,
) -> Records:
    """Read quasi-identifiers and sensitive attributes, those with that role where none are named.

    Numbers stay numbers unless ``categorical`` names them, and dates are numbers of days, whose centres are whole days
    and whole seconds; a missing category counts as one more. Text of which most
    reads as numbers is refused unless it is named or is plainly a code: one stray text turns a column of numbers into
    text, and then every age would be a category. ``rows`` is the table itself where it was read already, in the order
    that is to be kept. ``person`` names the column that says whose records they are.
    """
    chosen = tuple(quasi) or dataset.roles.quasi_identifying
    hidden = tuple(sensitive) or dataset.roles.sensitive
    dataset.schema.check(*chosen, *hidden)
    if not chosen:
        raise RoleError("no column is quasi-identifying; name some with --quasi or in the roles file")
    for name in categorical:
        if name not in chosen:
            raise RoleError(f"{name!r} is no quasi-identifier, so nothing asks whether it is categorical; leave it out")
    names = list(dict.fromkeys((*chosen, *hidden)))
    read = names if person is None else list(dict.fromkeys((*names, person)))
    table = ask(dataset.table.select(*read)) if rows is None else rows
    dates = dates_among(dataset, chosen, categorical)
    return Records.from_columns(
        {name: _column(table[name], dataset.schema.kind(name), is_date=name in dates) for name in names},
        quasi_identifiers=chosen,
        sensitive=hidden,
        categorical=[n for n in chosen if n in categorical or _names_categories(dataset.schema.kind(n), table[n])],
        missing="category",
        steps={name: STEPS[kind] for name, kind in dates.items()},
        persons=None if person is None else codes_of_people(table[person], person),
    )


def dates_among(dataset: Dataset, columns: Sequence[str], categorical: Sequence[str]) -> dict[str, Kind]:
    """Those of the columns that hold dates or times, unless they are named categorical."""
    kinds = {name: dataset.schema.kind(name) for name in columns if name not in categorical}
    return {name: kind for name, kind in kinds.items() if kind in DATES}


def as_dates(days: NDArray[np.float64], kind: Kind) -> pa.Array:
    """Centres of dates as dates again."""
    if kind is Kind.DATE:
        return pa.array(np.rint(days).astype("datetime64[D]"))
    return pa.array(np.rint(days / STEPS[kind]).astype("datetime64[s]").astype("datetime64[us]"))


def _names_categories(kind: Kind, column: pa.ChunkedArray) -> bool:
    """Whether a column holds categories by its kind, or by a value that no number is written like: 02139."""
    if kind is not Kind.TEXT:
        return not kind.is_number and kind not in DATES
    coded = pc.match_substring_regex(column.cast(pa.string()), r"^(0\d+|\d{16,})$")
    return bool(pc.any(coded).as_py())


def _column(column: pa.ChunkedArray, kind: Kind, *, is_date: bool) -> np.ndarray[Any, Any]:
    if is_date:
        return column_values(column, kind)
    number = kind.is_number
    if number and not column.null_count:
        return np.asarray(column.to_numpy())
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_pylist() if number else column.cast(pa.string()).to_pylist()
    return values
