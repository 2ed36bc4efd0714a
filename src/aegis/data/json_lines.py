"""JSON as a table: a record on every line, or one list of records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from aegis.data.unpacked import unpacked
from aegis.errors import DataError

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
