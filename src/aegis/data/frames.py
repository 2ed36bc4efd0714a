"""Data frames of other libraries, made fit to be a table: named columns, one type each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from aegis.errors import DataError

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
