"""Open a file, a database table or a data frame as a Dataset, without reading its rows yet.

DuckDB is embedded and answers for files and data frames; databases and Spark answer for themselves, by URL.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aegis.data import arrow_sources, delimited, spark
from aegis.data.arrow_sources import LINES, WORKBOOKS, read_json, read_sheet
from aegis.data.dataset import Dataset, blocks_of
from aegis.data.embedded import Embedded, EmbeddedTable
from aegis.data.engine_words import in_our_words
from aegis.data.kind import Kind
from aegis.data.schema import NOTATIONS, Column, Notation, Roles, Schema, roles_beside
from aegis.data.unpacked import without_compression
from aegis.errors import DataError, EngineError, MissingExtraError

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pandas as pd

    from aegis.data.dataset import Rows

_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".feather", ".ipc")
_DUCKDB = (".duckdb", ".ddb")
_TEXT = (".csv", ".tsv", ".txt", ".psv", ".dat")
_SHORT_BYTES = 1 << 23
# Formats that would otherwise be taken for a delimited text, and be a puzzling one.
_NOT_READ = (
    *(".xml", ".html", ".htm", ".pdf", ".rar", ".7z", ".tar", ".tgz"),
    *(".sas7bdat", ".sav", ".dta", ".rds", ".pkl", ".avro", ".orc", ".sqlite"),
)


def open_dataset(
    source: Any,
    *,
    roles: Roles | None = None,
    engine: str | None = None,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    missing: Sequence[str] = (),
    decimal_comma: Sequence[str] = (),
    day_first: Sequence[str] = (),
    month_first: Sequence[str] = (),
    as_text: bool = False,
    kinds: Mapping[str, Kind] | None = None,
) -> Dataset:
    """Open ``source``: a path, a database URL, a pandas, Polars or Arrow table, or an Ibis table.

    With an ``engine``, the URL of one, ``source`` is the name of a table inside it, or of a file that it reads itself;
    otherwise embedded DuckDB reads files. ``table`` names a table of a database; ``missing`` lists texts that mean a
    missing value; ``decimal_comma``, ``day_first`` and ``month_first`` name columns that are written so, see
    `aegis.data.written_values`; ``as_text`` leaves the values of a delimited file as they are written, so that 1 and
    1.0 stay apart; ``kinds`` states what columns hold, so that the rows of a text file are not asked. Roles given here
    override those in the ``<stem>.roles.yaml`` beside the file.
    """
    beside = roles_beside(source)
    missing = tuple(missing) or beside.missing
    written = Notation() if as_text else _written_so(source, beside.notation)
    notation = _notation(written, decimal_comma=decimal_comma, day_first=day_first, month_first=month_first)
    name, opened = _open(
        source,
        engine=engine,
        table=table,
        delimiter=delimiter,
        encoding=encoding,
        missing=missing,
        as_text=as_text,
        texts=notation.columns,
        kinds=kinds,
    )
    if notation.columns:
        if as_text:
            raise DataError("values that are left as they are written are not read by their notation")
        from aegis.data.written_values import as_values  # loads Ibis, as little else here does

        expression = opened.expression if isinstance(opened, EmbeddedTable) else opened
        opened = as_values(expression, notation, name=name, missing=missing)
    merged = beside.roles.overridden_by(roles) if roles is not None else beside.roles
    dataset = as_dataset(opened, name=name, roles=merged, missing=missing)
    read_off = set(dataset.schema.names) - set(kinds or ()) if _rows_tell_types(source, engine=engine) else ()
    dataset = replace(dataset, orders=beside.order, types_read=frozenset(read_off))
    dataset.schema.check(*beside.order)
    check_kinds(dataset, kinds or {})
    if engine is None and _is_parquet(source) and not notation.columns:
        return replace(dataset, blocks=blocks_of(dataset.rows, opened, Path(source), missing=missing))
    return dataset


def check_kinds(dataset: Dataset, kinds: Mapping[str, Kind]) -> None:
    """Raise if a column does not hold what is stated of it."""
    for column, kind in kinds.items():
        if column in dataset.schema and dataset.schema.kind(column) is not kind:
            raise DataError(
                f"column {column!r} of {dataset.name} holds {dataset.schema.kind(column)} by its type, and {kind} is "
                "stated; state the type that it has"
            )


def _rows_tell_types(source: Any, *, engine: str | None = None) -> bool:
    """Whether the types of this source's columns are read off its rows: text, JSON lines and sheets state none."""
    text = str(source)
    if not isinstance(source, str | Path) or "://" in text or (engine is not None and not _names_a_file(text)):
        return False
    path = Path(text.rpartition("#")[0]) if "#" in text and not Path(text).exists() else Path(text)
    return not path.is_dir() and path.suffix.lower() not in (*_PARQUET, *_ARROW, *_DUCKDB)


def _written_so(source: Any, beside: Notation) -> Notation:
    """How the columns of a file are written, as its roles file says.

    A release finds the roles of its source, ``mine.released.csv`` those of ``mine.csv``; its values are written anew.
    """
    if not isinstance(source, str | Path):
        return beside
    name = without_compression(Path(source)).name
    return beside if Path(name).stem == name.split(".")[0] else Notation()


def _notation(beside: Notation, **named_columns: Sequence[str]) -> Notation:
    """How columns are written: as given for the columns that are named, else as the roles file says."""
    named = {column for columns in named_columns.values() for column in columns}
    return Notation(
        **{
            how: (*named_columns[how], *(column for column in getattr(beside, how) if column not in named))
            for how in NOTATIONS
        }
    )


def read_frame(path: str | Path) -> pd.DataFrame:
    """A table file as a pandas data frame."""
    try:
        import pandas  # noqa: F401  an extra
    except ImportError:
        raise MissingExtraError(feature="a pandas data frame", extra="pandas") from None
    frame: pd.DataFrame = open_dataset(path).table.to_pandas()
    return frame


def as_dataset(
    table: ir.Table | EmbeddedTable, *, name: str = "table", roles: Roles | None = None, missing: Sequence[str] = ()
) -> Dataset:
    """A table of an engine as a dataset; nothing is opened or read for it."""
    rows: Rows
    if isinstance(table, EmbeddedTable):
        rows, kinds = table.tidied(missing), table.kinds
    elif not table.columns:
        raise DataError(f"{name} has no columns; give a table with a header")
    else:
        from aegis.data.tidied import kind_of, tidied

        rows = tidied(table, missing)
        kinds = {column: kind_of(kind) for column, kind in rows.schema().items()}
    schema = Schema(columns=tuple(Column(name=column, kind=kind) for column, kind in kinds.items()))
    return Dataset(name=name, rows=rows, schema=schema, roles=(roles or Roles()).checked_against(schema))


def _is_parquet(source: Any) -> bool:
    """Whether this is one Parquet file."""
    return isinstance(source, str | Path) and Path(source).suffix.lower() in _PARQUET and Path(source).is_file()


def _open(
    source: Any,
    *,
    engine: str | None,
    table: str | None,
    delimiter: str | None,
    encoding: str,
    missing: Sequence[str],
    as_text: bool,
    texts: Sequence[str],
    kinds: Mapping[str, Kind] | None,
) -> tuple[str, ir.Table | EmbeddedTable]:
    if table is not None and not isinstance(source, str | Path):
        raise DataError("a data frame is one table; leave out the name of a table, which is for databases")
    if not isinstance(source, str | Path):
        import ibis

        if isinstance(source, ibis.expr.types.Table):
            return (source.get_name() if hasattr(source.op(), "name") else "table"), source
        return "table", _from_frame(source)
    text = str(source)
    reading: dict[str, Any] = {
        "delimiter": delimiter,
        "encoding": encoding,
        "missing": missing,
        "as_text": as_text,
        "texts": texts,
        "kinds": kinds,
    }
    if engine is not None:
        return _inside(text, engine, table, reading)
    if "://" in text:
        return _from_url(text, table, reading)
    return _from_file(text, table, Embedded(_settings(threads=1 if _is_short_text(text) else None)), reading)


def _inside(name: str, engine: str, table: str | None, reading: dict[str, Any]) -> tuple[str, ir.Table | EmbeddedTable]:
    """A table by its name inside an engine; DuckDB and Spark read files as well."""
    if table is not None or "#" in engine:
        raise DataError(
            "with an engine the data is the name of a table inside it; name no other with --table or #table"
        )
    _check_there(engine)
    connection = connect(engine)
    if spark.is_spark(engine):
        return Path(name).stem, spark.open_in_spark(connection, name, **_of_spark(reading))
    try:
        tables = set(connection.list_tables())
    except Exception as error:
        raise in_our_words(error, _no_tables_shown(error)) from None
    if engine.lower().startswith("duckdb") and name not in tables and _names_a_file(name):
        return _from_file(name, None, connection, reading)
    return name, _database_table(connection, name, "the database")


def _of_spark(reading: dict[str, Any]) -> dict[str, Any]:
    """The options that Spark takes: it reads no notation, which `as_values` says, and kinds are checked afterwards."""
    return {option: value for option, value in reading.items() if option not in ("texts", "kinds")}


def _check_there(address: str) -> None:
    """Raise if a DuckDB or SQLite file that is to be read does not exist: opening it would make an empty one."""
    scheme, _, rest = address.partition("://")
    file = rest.partition("?")[0]
    if (
        scheme.lower() in ("duckdb", "sqlite")
        and file not in ("", ":memory:")
        and not file.startswith("md:")
        and not _is_there(Path(file))
    ):
        raise DataError(f"there is no database {file}; check the path")


def _names_a_file(name: str) -> bool:
    """Whether a name is that of a file rather than ``table`` or ``schema.table``."""
    ending = without_compression(Path(name)).suffix.lower()
    endings = (*_PARQUET, *_ARROW, *_TEXT, *LINES, *WORKBOOKS)
    return bool(set("/*?[\\") & set(name)) or ending in endings or Path(name).exists()


def _from_file(
    text: str, table: str | None, connection: Any, reading: dict[str, Any]
) -> tuple[str, ir.Table | EmbeddedTable]:
    path, table = _file(text, table)
    last = path.suffix.lower()
    if table is not None and (path.is_dir() or last not in (*_DUCKDB, *WORKBOOKS)):
        raise DataError(f"{path.name} is one table and not a database; leave out --table")
    if last in WORKBOOKS:
        _refuse_text_options(path, reading)
        sheet, rows = read_sheet(path, table)
        return (path.stem if table is None else sheet), _from_frame(rows)
    if without_compression(path).suffix.lower() in LINES:
        _refuse_text_options(path, reading)
        return without_compression(path).stem, _from_frame(read_json(path))
    try:
        if path.is_dir():
            arrow_sources.check_parquet_folder(path)
            return path.resolve().stem, connection.read_parquet(
                [str(file) for file in arrow_sources.parquet_files(path)]
            )
        if last in _DUCKDB:
            import ibis

            return path.stem, _database_table(ibis.duckdb.connect(path, read_only=True), table, str(path))
        if last in _PARQUET:
            arrow_sources.check_parquet_names(path)
            return path.stem, connection.read_parquet(str(path))
        if last in _ARROW:
            import pyarrow.feather  # part of the core, imported late because few need it

            return path.stem, _from_frame(pyarrow.feather.read_table(path))
    except Exception as error:  # engines raise their own trees, and quote data in them
        ours = DataError(
            f"{path.name} cannot be read as {last.lstrip('.') or 'parquet'} ({type(error).__name__}): it is damaged, "
            "cut short or of another format; copy or write it again, and give it the ending of its format"
        )
        raise in_our_words(error, ours) from None
    return without_compression(path).stem, delimited.read(connection, path, **reading)


def _refuse_text_options(path: Path, reading: dict[str, Any]) -> None:
    """Raise for what only delimited text has."""
    if reading["delimiter"] is not None or reading["encoding"] != "utf-8":
        raise DataError(f"{path.name} is no delimited text; leave out --delimiter and --encoding")


def _file(text: str, table: str | None) -> tuple[Path, str | None]:
    """The file or folder at a path that may end in ``#table``; an error where nothing readable is there."""
    path = Path(text)
    database, _, fragment = text.rpartition("#")
    if Path(database).suffix.lower() in _DUCKDB and not _is_there(path):
        path, table = Path(database), table or fragment
    if not _is_there(path) and not any(mark in path.name for mark in "*?["):
        raise DataError(f"there is no file {path}; check the path")
    if path.is_dir():
        if not arrow_sources.parquet_files(path):
            raise DataError(f"{path} is a folder without Parquet files; give a file, or a folder that has some")
        return path, table
    ending = without_compression(path).suffix
    if ending.lower() in _NOT_READ:
        raise DataError(
            f"{path.name} is a {ending} file, which cannot be read; "
            "convert it to CSV (or other delimited text), Parquet, Arrow, JSON lines or DuckDB"
        )
    if path != without_compression(path) and ending.lower() in (*_PARQUET, *_ARROW, *_DUCKDB, *WORKBOOKS):
        raise DataError(f"{path.name} is compressed twice over: a {ending} file is compressed inside; unpack it")
    return path, table


def _is_there(path: Path) -> bool:
    try:
        if not {"\n", "\0"} & set(str(path)):
            return path.exists()
    except OSError:  # too long for a path
        pass
    # A file's content, perhaps, and then not to be repeated.
    raise DataError("this text is not the path of a file; give a path, a URL or a data frame")


def _no_tables_shown(error: Exception) -> EngineError:
    return EngineError(f"the database could not show its tables ({type(error).__name__})")


def _is_short_text(name: str) -> bool:
    """Whether this is a delimited file so short that threads would spend more on each other than on the work."""
    path = Path(name)
    return path.suffix.lower() in _TEXT and _is_there(path) and path.is_file() and path.stat().st_size <= _SHORT_BYTES


def _settings(*, threads: int | None = None) -> dict[str, Any]:
    """How embedded DuckDB is set up, with as many threads as there are cores if nothing is said."""
    # What does not fit into memory goes to the system's temporary folder, not into the working one.
    settings: dict[str, Any] = {"temp_directory": str(Path(tempfile.gettempdir()) / f"aegis-{os.getpid()}")}
    return settings if threads is None else {**settings, "threads": threads}


def connect(engine: str | None) -> Any:
    """The engine at a URL, or a fresh embedded DuckDB, as Ibis knows it."""
    import ibis

    if engine is None:
        return _prepared(ibis.duckdb.connect(**_settings()))
    if spark.is_spark(engine):
        return spark.connect_spark(engine)
    scheme = engine.partition("://")[0].lower().replace("postgresql", "postgres")
    if scheme not in {backend.name for backend in entry_points(group="ibis.backends")}:
        shown = f"{scheme}:// addresses" if re.fullmatch("[a-z][a-z0-9+.-]*", scheme) else "this address"
        raise EngineError(
            f"there is no engine for {shown}; use duckdb://, postgres://, spark://, sqlite:// or another engine "
            "of Ibis, or give a file by its path"
        )
    try:
        connection = ibis.connect(engine)
        return _prepared(connection) if scheme == "duckdb" else connection
    except ImportError as error:
        if scheme == "postgres":
            raise MissingExtraError(feature="PostgreSQL", extra="postgres") from None
        driver = f" ({error.name})" if error.name else ""
        raise EngineError(
            f"the driver for {scheme}:// addresses is not installed{driver}: pip install 'ibis-framework[{scheme}]'"
        ) from None
    except Exception as error:
        ours = EngineError(f"the engine cannot be reached ({type(error).__name__}); check the URL and the server")
        raise in_our_words(error, ours) from None


def _prepared(connection: Any) -> Any:
    """A DuckDB without a progress bar, which would go to stdout, where the data goes, and without its cache of files.

    Every column is read about once and the system keeps files as well; the cache only fills the memory that is allowed.
    """
    connection.raw_sql("SET enable_progress_bar = false")
    connection.raw_sql("SET enable_external_file_cache = false")
    return connection


def _from_frame(frame: Any) -> ir.Table:
    """Anything tabular that Arrow understands."""
    try:
        import ibis

        named = arrow_sources.named(frame)
        return connect(None).create_table("frame", ibis.memtable(named), temp=True)
    except DataError:
        raise
    except Exception as error:
        ours = arrow_sources.unfit_column(frame) or arrow_sources.not_a_table(frame, f" ({type(error).__name__})")
        raise in_our_words(error, ours) from None


def _from_url(url: str, table: str | None, reading: dict[str, Any]) -> tuple[str, ir.Table]:
    address, _, fragment = url.partition("#")
    name = table or fragment
    _check_there(address)
    connection = connect(address)
    if spark.is_spark(address) and name:
        return Path(name).stem, spark.open_in_spark(connection, name, **_of_spark(reading))
    try:
        return name or "table", _database_table(connection, name, "the database")
    except Exception as error:
        raise in_our_words(error, _no_tables_shown(error)) from None


def _database_table(connection: Any, name: str | None, where: str) -> ir.Table:
    schema, _, short = (name or "").rpartition(".")
    tables = sorted(connection.list_tables())
    if schema and name not in tables and schema in connection.list_databases():
        tables, where = sorted(connection.list_tables(database=schema)), f"{where}'s schema {schema!r}"
        if short in tables:
            return connection.table(short, database=schema)
    if not name:
        if len(tables) == 1:
            return connection.table(tables[0])
        raise DataError(
            f"{where} holds {len(tables)} tables; name one with --table or #table ({', '.join(tables[:20])})"
        )
    if name not in tables:
        raise DataError(f"{where} has no table {name!r}; it has {', '.join(tables[:20]) or 'none'}")
    return connection.table(name)
