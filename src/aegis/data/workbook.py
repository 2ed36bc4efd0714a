"""A sheet of a workbook as a table: the first row names the columns, every further one is a record.

A workbook has no types by columns: each cell is a number, a text, a date or a truth value of its own. A column whose
cells are all of one kind keeps it; one of several kinds is text, written as the sheet shows it.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from aegis.errors import DataError, MissingExtraError

WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
"""The endings of workbooks."""


def read_sheet(path: Path, sheet: str | None) -> tuple[str, pa.Table]:
    """The name and the rows of a sheet; the only one where none is named."""
    try:
        from python_calamine import CalamineWorkbook  # an extra
    except ImportError:
        raise MissingExtraError(feature=f"a workbook ({path.suffix})", extra="excel") from None
    try:
        book = CalamineWorkbook.from_path(str(path))
        names = list(book.sheet_names)
    except Exception as error:  # the reader has errors of its own, without a common parent
        raise DataError(
            f"{path.name} cannot be read as a workbook ({type(error).__name__}): it is damaged, locked with a "
            "password or of another format; open and save it again"
        ) from None
    if sheet is None and len(names) != 1:
        raise DataError(f"{path.name} has {len(names)} sheets; name one with --table ({', '.join(names[:20])})")
    chosen = names[0] if sheet is None else sheet
    if chosen not in names:
        raise DataError(f"{path.name} has no sheet {chosen!r}; it has {', '.join(names[:20])}")
    try:
        rows = book.get_sheet_by_name(chosen).to_python(skip_empty_area=True)
    except Exception as error:
        raise DataError(
            f"the sheet {chosen!r} of {path.name} cannot be read ({type(error).__name__}): it is damaged or a chart"
        ) from None
    return chosen, _as_table(rows, path.name)


def _as_table(rows: Sequence[Sequence[Any]], name: str) -> pa.Table:
    if not rows or all(_is_empty(cell) for cell in rows[0]):
        raise DataError(f"{name} is empty; the first row of a sheet names the columns, and others are the records")
    header = [str(cell).strip() if not _is_empty(cell) else "" for cell in rows[0]]
    records = [row for row in rows[1:] if not all(_is_empty(cell) for cell in row)]
    unnamed = [place for place, text in enumerate(header) if not text]
    if any(not _is_empty(row[place]) for place in unnamed for row in records):
        raise DataError(f"{name}: a column has no name; every column with values needs one in the first row")
    columns = {}
    for place, text in enumerate(header):
        if text:
            if text in columns:
                raise DataError(f"{name}: a column name occurs twice; rename one")
            columns[text] = _column([row[place] for row in records])
    return pa.table(columns)


def _is_empty(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _column(cells: Sequence[Any]) -> pa.Array:
    """One column with the narrowest type that all its cells have."""
    values = [None if _is_empty(cell) else cell for cell in cells]
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and kinds:
        # A sheet keeps every number as a decimal one.
        if all(value is None or float(value).is_integer() for value in values):
            return pa.array([None if value is None else int(value) for value in values], pa.int64())
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds == {datetime.date}:
        return pa.array(values, pa.date32())
    if kinds and kinds <= {datetime.date, datetime.datetime}:
        moments = [
            value if value is None or isinstance(value, datetime.datetime) else _midnight(value) for value in values
        ]
        return pa.array(moments, pa.timestamp("us"))
    return pa.array([None if value is None else _shown(value) for value in values], pa.string())


def _midnight(day: datetime.date) -> datetime.datetime:
    return datetime.datetime.combine(day, datetime.time())


def _shown(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
