"""The columns of a dataset as records that an anonymizer can cluster."""

from __future__ import annotations

from collections.abc import Sequence
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
from aegis.library.tables.filling import column_values

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
    for name in (*chosen, *hidden):
        dataset.schema.kind(name)
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
