"""Data frames of other libraries, made fit to be a table: named columns, one type each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from aegis.errors import DataError


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
    elif hasattr(kind, "column_names"):  # Arrow
        names = list(frame.column_names)
    elif hasattr(kind, "collect_schema"):  # Polars, which tells names apart by case
        names = list(frame.collect_schema().names())
    elif hasattr(kind, "schema"):  # streams and scans of Arrow
        names = list(frame.schema.names)
    else:
        raise not_a_table(frame)
    twice = sum(times > 1 for times in Counter(name.lower() for name in names).values())
    if twice:
        raise DataError(f"the table has {twice} column names that occur twice; rename them")
    return frame


def mixed_column(frame: Any) -> str | None:
    """The first column of a pandas frame that Arrow has no type for."""
    import pyarrow  # part of the core, imported late because few need it

    if not hasattr(type(frame), "set_axis"):
        return None
    for name in frame.columns:
        try:
            pyarrow.array(frame[name], from_pandas=True)
        except (pyarrow.ArrowException, TypeError, ValueError):
            return str(name)
    return None
