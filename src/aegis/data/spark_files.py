"""Tables and files as Spark finds them: by name in its catalog, by path in its storage.

Delimited files are read as strictly as the embedded engine reads them: all values are texts at first, and each column
gets the narrowest type that every one of its values fits. A record must be one line, so that files can be split.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aegis.data import delimited
from aegis.data.interruption import is_interruption
from aegis.data.sql_text import quoted_name, quoted_text
from aegis.errors import AegisError, DataError

if TYPE_CHECKING:
    import ibis.expr.types as ir

_TABLE = re.compile(r"\w+([.]\w+){0,2}")
_DELIMITED = (".csv", ".tsv", ".txt", ".psv", ".dat")
_NUMBER = r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?|(?i:[+-]?(nan|inf|infinity))"
# The same rungs as in `delimited`, in Spark's words; a raw string keeps its backslashes.
_LADDER = {
    "BOOLEAN": "lower({0}) IN ('true', 'false')",
    "BIGINT": "trim({0}) RLIKE r'^([+-]?[1-9][0-9]{{0,18}}|[+-]?0)$' AND try_cast(trim({0}) AS BIGINT) IS NOT NULL",
    "DOUBLE": f"trim({{0}}) RLIKE r'^({_NUMBER.replace('{', '{{').replace('}', '}}')})$' AND NOT "
    "trim({0}) RLIKE r'^([+-]?0[0-9].*|[+-]?[0-9]{{16,}}|[+-]?[0-9]{{17,}}[.][0-9]*)$'",
    "DATE": "length({0}) = 10 AND try_cast({0} AS DATE) IS NOT NULL",
    "TIMESTAMP_NTZ": "length({0}) > 10 AND try_cast({0} AS TIMESTAMP_NTZ) IS NOT NULL",
}


def open_in_spark(
    backend: Any, name: str, *, delimiter: str | None, encoding: str, missing: Sequence[str], as_text: bool
) -> ir.Table:
    """The table ``name`` (``table``, ``database.table`` or ``catalog.database.table``), or the file or folder."""
    try:
        if _TABLE.fullmatch(name) and backend._session.catalog.tableExists(name):
            *place, table = name.split(".")
            return backend.table(table, database=".".join(place) or None)
        path = str(Path(name).resolve()) if "://" not in name and Path(name).exists() else name
        if Path(path.removesuffix(".gz")).suffix.lower() in _DELIMITED:
            return _read_delimited(backend, path, delimiter, encoding, missing, as_text)
        return backend.read_parquet(path)
    except AegisError:
        raise
    except Exception as error:  # Spark quotes data and plans in its messages
        if is_interruption(error):
            raise KeyboardInterrupt from None
        kind = Path(name).suffix.lstrip(".") or "parquet"
        raise DataError(
            f"Spark has no table and finds no {kind} file called {Path(name).name!r} ({type(error).__name__}); "
            "give a table of its catalog, or a path that its workers can read"
        ) from None


def _read_delimited(
    backend: Any, path: str, delimiter: str | None, encoding: str, missing: Sequence[str], as_text: bool
) -> ir.Table:
    session, file = backend._session, Path(path)
    encoding = delimited.checked_encoding(encoding)
    first = session.read.option("encoding", encoding).csv(path, sep="\u0001", quote="", header=False).first()
    header = (first[0] if first is not None else "").lstrip("\ufeff")
    if not header.strip():
        raise DataError(f"{file.name} is empty; it needs a header line and rows")
    delimiter = delimiter or delimited.delimiter_of(header)
    names = delimited.names_of(header, delimiter, file)
    if delimited.looks_like_values(names):  # its names would be cell values, and every later message could show them
        raise DataError(f"the first line of {file.name} looks like a record, not a header; add a header line")
    schema = ", ".join(f"{_name(name)} STRING" for name in names)
    frame = (
        session.read.option("mode", "FAILFAST")
        .option("columnPruning", "false")  # a row with too few fields is an error also where nobody asks for the last
        .option("encoding", encoding)
        .csv(path, schema=schema, sep=delimiter, quote='"', escape='"', header=True, enforceSchema=True)
    )
    blank = ", ".join(quoted_text(text, spark=True) for text in ("", *missing))
    texts = frame.selectExpr(*(f"CASE WHEN {_name(n)} IN ({blank}) THEN NULL ELSE {_name(n)} END AS {_name(n)}"
                               for n in names))  # fmt: skip
    if not as_text:
        types = _types(texts, names)
        texts = texts.selectExpr(*(f"CAST(trim({_name(n)}) AS {t}) AS {_name(n)}" if t else _name(n)
                                   for n, t in types.items()))  # fmt: skip
    view = f"aegis_file_{abs(hash((path, delimiter, encoding, tuple(missing), as_text))):x}"
    texts.createOrReplaceTempView(view)
    return backend.table(view)


def _types(texts: Any, names: Sequence[str]) -> dict[str, str | None]:
    """The narrowest type that all values of each column fit, from one pass; None where that is text."""
    tests = [
        f"bool_and({_name(name)} IS NULL OR ({condition.format(_name(name))})) AND count({_name(name)}) > 0"
        for name in names
        for condition in _LADDER.values()
    ]
    answers = texts.selectExpr(*(f"{test} AS c{i}" for i, test in enumerate(tests))).first()
    rungs = list(_LADDER)
    return {
        name: next((rung for j, rung in enumerate(rungs) if answers[i * len(rungs) + j]), None)
        for i, name in enumerate(names)
    }


def _name(column: str) -> str:
    return quoted_name(column, spark=True)
