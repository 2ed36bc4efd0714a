"""Columns of text read as the numbers and dates that somebody says they are; a value that does not fit is an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import ibis

from aegis.data.engine_words import in_our_words
from aegis.data.schema import Notation
from aegis.errors import DataError, EngineError
from aegis.plural import count

if TYPE_CHECKING:
    import ibis.expr.types as ir

_NUMBER = r"^[-+]?([0-9]+|[0-9]{1,3}([.][0-9]{3})+)(,[0-9]+)?$"
_DATE = r"^([0-9]{1,2})[./-]([0-9]{1,2})[./-]([0-9]{4})$"
_FORMS = {
    "decimal_comma": "numbers written 1.234,5",
    "day_first": "dates written 31.12.2024 or 31/12/2024",
    "month_first": "dates written 12/31/2024",
}


def as_values(table: ir.Table, notation: Notation, *, name: str, missing: Sequence[str] = ()) -> ir.Table:
    """The table with what is named read as numbers and dates; raises where a value is not written so.

    Embedded DuckDB reads them; a database has views for it.
    """
    if not notation.columns:
        return table
    if table.get_backend().name != "duckdb":
        raise DataError(
            "numbers and dates are read by their notation from files and data frames; in a database, cast the "
            f"column {notation.columns[0]!r} in a view and give that"
        )
    for column in notation.columns:
        if column not in table.columns:
            raise DataError(f"{name} has no column {column!r}; the columns are {', '.join(table.columns)}")
    texts = [column for column in notation.columns if table[column].type().is_string()]
    others = [column for column in notation.columns if column not in texts]
    if others:
        raise DataError(
            f"{others[0]!r} is read as {table[others[0]].type()} without help; leave it out of "
            f"--{notation.of(others[0]).replace('_', '-')}"
        )
    read = {column: _read(table[column], notation.of(column), missing) for column in texts}
    wrong = misfits(table, notation, missing=missing)
    for column, rows in wrong.items():
        if rows:
            raise DataError(
                f"in {count(rows, 'row')} of {name} the value of {column!r} is none of {_FORMS[notation.of(column)]}; "
                "repair it, declare the texts that mean a missing value, or leave the column as text"
            )
    return table.mutate(**read)


def misfits(table: ir.Table, notation: Notation, *, missing: Sequence[str] = ()) -> Mapping[str, int]:
    """In how many rows each column that is named holds something that is not written so."""
    counts = {}
    for number, column in enumerate(notation.columns):
        text = _text(table[column], missing)
        read = _read(table[column], notation.of(column), missing)
        counts[f"wrong_{number}"] = (text.notnull() & read.isnull()).sum()
    try:
        (answer,) = table.aggregate(**counts).to_pyarrow().to_pylist()
    except Exception as error:  # an engine's message may quote data
        ours = EngineError(f"the engine could not read how columns are written ({type(error).__name__})")
        raise in_our_words(error, ours) from None
    return {column: int(answer[f"wrong_{number}"] or 0) for number, column in enumerate(notation.columns)}


def _text(column: Any, missing: Sequence[str]) -> Any:
    text = column.strip().nullif("")
    return text.isin(list(missing)).ifelse(ibis.null("string"), text) if missing else text


def _read(column: Any, how: str, missing: Sequence[str]) -> Any:
    """The value, or nothing where the text is not written so."""
    text = _text(column, missing)
    if how == "decimal_comma":
        number = text.replace(".", "").replace(",", ".").try_cast("float64")
        return text.re_search(_NUMBER).ifelse(number, ibis.null("float64"))
    first, second, year = (text.re_extract(_DATE, group) for group in (1, 2, 3))
    day, month = (first, second) if how == "day_first" else (second, first)
    date = (year + "-" + month.lpad(2, "0") + "-" + day.lpad(2, "0")).try_cast("date")
    return text.re_search(_DATE).ifelse(date, ibis.null("date"))
