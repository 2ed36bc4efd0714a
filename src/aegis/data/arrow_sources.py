"""Sources that become an Arrow table before an engine sees them: data frames, JSON, and sheets of workbooks.

A frame of another library is made fit to be a table: named columns, one type each. JSON is a record on every line, or
one list of records. Of a sheet the first row names the columns, every further one is a record. A workbook has no types
by columns: each cell is a number, a text, a date or a truth value of its own. A column whose cells are all of one kind
keeps it; one of several kinds is text, written as the sheet shows it.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from aegis.data.unpacked import unpacked
from aegis.errors import DataError, MissingExtraError

_PRIVATE = ".ledger.private"
"""How the folder ends in which a ledger keeps what only its owner may read."""


def not_a_table(frame: Any, why: str = "") -> DataError:
    return DataError(
        f"a {type(frame).__name__} is not a table Aegis can open{why}; "
        "give a path, a URL, or a pandas, Polars or Arrow table"
    )


def named(frame: Any) -> Any:
    """The frame with a text of its own as the name of each column."""
    kind = type(frame)
    if isinstance(frame, Mapping):
        names = [str(name) for name in frame]
        frame = dict(zip(names, frame.values(), strict=True))
    elif isinstance(frame, list | tuple) and frame and all(isinstance(record, Mapping) for record in frame):
        names = []  # records: what they lack is missing, so no name can be one too many
        frame = [{str(name): value for name, value in record.items()} for record in frame]
    elif hasattr(kind, "set_axis") and hasattr(kind, "columns"):  # pandas, where a name can be anything
        names = [str(name) for name in frame.columns]
        frame = frame.set_axis(names, axis=1)
        if len(set(names)) == len(names):  # what is missing in every row has no type, and a table needs one
            empty = [n for n in names if frame[n].dtype == object and frame[n].first_valid_index() is None]
            frame = frame.astype(dict.fromkeys(empty, "string")) if empty else frame
    elif hasattr(kind, "column_names"):  # Arrow
        names = list(frame.column_names)
        if hasattr(kind, "cast") and any(str(field.type) == "null" for field in frame.schema):
            import pyarrow

            text = pyarrow.string()
            frame = frame.cast(
                pyarrow.schema([f.with_type(text) if str(f.type) == "null" else f for f in frame.schema])
            )
    elif hasattr(kind, "collect_schema"):  # Polars, which tells names apart by case
        types = frame.collect_schema()
        names = list(types.names())
        empty = [name for name in names if str(types[name]) == "Null"]
        frame = frame.cast(dict.fromkeys(empty, str)) if empty else frame
    elif hasattr(kind, "schema"):  # streams and scans of Arrow
        names = list(frame.schema.names)
    else:
        raise not_a_table(frame)
    check_names(names)
    return frame


def check_names(names: Sequence[str]) -> None:
    """Raise where two columns have one name: DuckDB and most databases do not tell upper from lower case."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise DataError(f"the table has {len(twice)} column names that occur twice; rename them")
    by_case: dict[str, list[str]] = {}
    for name in names:
        by_case.setdefault(name.lower(), []).append(name)
    alike = [group for group in by_case.values() if len(group) > 1]
    if alike:
        more = f", and {len(alike) - 1} more like them" if len(alike) > 1 else ""
        named = " and ".join(map(repr, alike[0]))
        raise DataError(f"the columns {named} differ in upper and lower case only{more}; rename one")


def check_parquet_names(path: Path) -> None:
    """The same of a Parquet file: the engine would call one of two names that differ in case something else."""
    import pyarrow.parquet  # part of the core, imported late because few need it

    if path.is_file():
        with suppress(pyarrow.ArrowException):  # what Arrow cannot read the engine perhaps can
            check_names(pyarrow.parquet.read_schema(path).names)


def parquet_files(folder: Path) -> tuple[Path, ...]:
    """The Parquet files of a folder and those below it; what a ledger keeps for itself is no table of anybody's."""
    files = sorted(folder.rglob("*.parquet"))
    return tuple(file for file in files if not any(part.endswith(_PRIVATE) for part in file.relative_to(folder).parts))


def check_parquet_folder(folder: Path) -> None:
    """Raise where a file of a folder is damaged or has other columns: the engine would notice when it comes to it."""
    import pyarrow.parquet

    first: list[str] | None = None
    for file in parquet_files(folder):
        try:
            names = list(pyarrow.parquet.read_schema(file).names)
        except (pyarrow.ArrowException, OSError):
            raise DataError(
                f"{file.name} in {folder.name} is damaged, cut short or no Parquet file; fetch it again, or take it out"
            ) from None
        first = names if first is None else first
        if set(names) != set(first):
            raise DataError(
                f"{file.name} in {folder.name} has other columns than the first file; give it the same ones"
            )
    check_names(first or [])


def unfit_column(frame: Any) -> DataError | None:
    """What is wrong with the first column of a pandas frame that no table can hold."""
    import pyarrow  # part of the core, imported late because few need it

    if not hasattr(type(frame), "set_axis"):
        return None
    for name in frame.columns:
        column = frame[name]
        kind = str(column.dtype).partition("[")[0]
        if kind in ("period", "interval"):
            return DataError(
                f"column {str(name)!r} holds pandas {kind}s, which no table has; make dates or texts of them, for "
                "example with .astype(str)"
            )
        try:
            pyarrow.array(column, from_pandas=True)
        except (pyarrow.ArrowException, TypeError, ValueError):
            return DataError(
                f"column {str(name)!r} holds values of several types, or of one that no table has; "
                "make all of them texts or all of them numbers"
            )
    return None


LINES = (".jsonl", ".ndjson", ".json")
"""The endings of JSON files."""
_MOMENT = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}(:?\d{2})?)?)?$"
_ZONE = r":.*(Z|[+-]\d{2}(:?\d{2})?)$"


def read_json(path: Path) -> pa.Table:
    """The records of a file; what a record lacks is missing, and what is nested is no table."""
    with unpacked(path) as plain:
        try:
            with plain.open("rb") as file:
                first = file.read(4096).lstrip()[:1]
            table = _of_list(plain, path.name) if first == b"[" else _of_lines(plain, path.name)
        except UnicodeDecodeError:
            raise DataError(f"{path.name} is not text in utf-8; write it again") from None
    for field in table.schema:
        if pa.types.is_nested(field.type):
            raise DataError(
                f"column {field.name!r} of {path.name} holds objects or lists, and a cell of a table is one value; "
                "flatten it first"
            )
    if not table.num_columns:
        raise DataError(f"{path.name} is empty; it needs a record on every line")
    return pa.table({name: _moments(table[name]) for name in table.column_names})


def _moments(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Days and times, which JSON can only write as texts: 2024-12-31, 2024-12-31T08:30:00.000, with Z or an offset.

    Times that are midnight in every row are days: that is how libraries write a day.
    """
    import pyarrow.compute as pc

    if pa.types.is_string(column.type):
        present = pc.drop_null(column)
        if not len(present) or not pc.all(pc.match_substring_regex(present, _MOMENT)).as_py():
            return column
        has_zone = pc.any(pc.match_substring_regex(present, _ZONE)).as_py()
        try:
            column = column.cast(pa.timestamp("us", tz="UTC" if has_zone else None))
        except pa.ArrowInvalid:  # the 31st of February, or a zone in some rows only
            return column
        column = column.cast(pa.timestamp("us"))
    if not pa.types.is_timestamp(column.type) or column.null_count == len(column):
        return column
    days = pc.floor_temporal(column, unit="day")
    return column.cast(pa.date32()) if pc.all(pc.equal(column, days)).as_py() else column


def _of_lines(plain: Path, name: str) -> pa.Table:
    import pyarrow.json

    if not plain.stat().st_size:
        raise DataError(f"{name} is empty; it needs a record on every line")
    try:
        return pyarrow.json.read_json(plain, read_options=pyarrow.json.ReadOptions(block_size=1 << 24))
    except (pa.ArrowException, ValueError):  # its message quotes the line
        raise DataError(_what_is_wrong(plain, name)) from None


def _what_is_wrong(plain: Path, name: str) -> str:
    """The first line that is no record, or the first column with values of two kinds."""
    kinds: dict[str, type] = {}
    with plain.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except ValueError:
                return f"line {number} of {name} is not JSON, or is cut short; every line is one record"
            if not isinstance(record, dict):
                return f'line {number} of {name} is no record; a record is written {{"column": value}}'
            for column, value in record.items():
                kind = float if isinstance(value, int | float) and not isinstance(value, bool) else type(value)
                if value is not None and kinds.setdefault(column, kind) is not kind:
                    return f"column {column!r} of {name} holds values of several kinds; line {number} has another"
    return f"{name} cannot be read as JSON; every line is one record"


def _of_list(plain: Path, name: str) -> pa.Table:
    try:
        records: Any = json.loads(plain.read_text(encoding="utf-8"))
    except ValueError:
        raise DataError(f"{name} is not JSON, or is cut short; write it again") from None
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise DataError(f'{name} is no list of records; a record is written {{"column": value}}')
    if not records:
        raise DataError(f"{name} is empty; it needs records")
    columns = dict.fromkeys(column for record in records for column in record)
    try:
        return pa.table({column: pa.array([record.get(column) for record in records]) for column in columns})
    except pa.ArrowException:
        raise DataError(f"a column of {name} holds values of several kinds; make all of them alike") from None


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
