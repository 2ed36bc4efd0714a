"""CSV and its relatives, read strictly: what does not fit is an error with a line number, never a guess.

The file is parsed once, as text; then each column gets the narrowest type that every one of its values fits. Codes
with a leading zero stay text: a zip code is not a number.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aegis.errors import DataError

if TYPE_CHECKING:
    import ibis.expr.types as ir

DELIMITERS = (",", ";", "\t", "|")

# From narrow to wide: the SQL type and the condition that a text has that form.
_LADDER = {
    "BOOLEAN": "lower({0}) IN ('true', 'false')",
    "BIGINT": "TRY_CAST({0} AS BIGINT) IS NOT NULL AND NOT regexp_full_match({0}, '[+-]?0[0-9].*|.*[.eE_].*')",
    "DOUBLE": "TRY_CAST({0} AS DOUBLE) IS NOT NULL AND NOT regexp_full_match({0}, '[+-]?0[0-9].*|.*_.*')",
    "DATE": "length({0}) = 10 AND TRY_CAST({0} AS DATE) IS NOT NULL",
    "TIMESTAMP": "length({0}) > 10 AND TRY_CAST({0} AS TIMESTAMP) IS NOT NULL",
    "VARCHAR": "true",
}
_WIDER = {"BIGINT": "DOUBLE"}
_SAMPLE_ROWS = 10_000


def read(
    connection: Any,
    path: Path,
    *,
    delimiter: str | None,
    encoding: str,
    missing: Sequence[str] = (),
    as_text: bool = False,
) -> ir.Table:
    """Load a delimited file into a temporary table of an embedded DuckDB; ``as_text`` leaves values as written."""
    header = _header_line(path, encoding)
    delimiter = delimiter or _delimiter(header)
    names = _names(header, delimiter, path)
    database = connection.con
    columns = "{" + ", ".join(f"{_literal(name)}: 'VARCHAR'" for name in names) + "}"
    nulls = "[" + ", ".join(_literal(text) for text in ("", *missing)) + "]"
    parsed = (
        f"read_csv({_literal(str(path))}, delim={_literal(delimiter)}, quote='\"', escape='\"', header=true, "
        f"auto_detect=false, columns={columns}, nullstr={nulls}, encoding={_literal(encoding)}, "
        "strict_mode=true, null_padding=false)"
    )
    try:
        database.execute(f"CREATE TEMP TABLE aegis_text AS FROM {parsed}")
    except Exception as error:  # the engine quotes the line in its message: say it in our own words
        raise DataError(_explain(str(error), path, delimiter, encoding)) from None
    if as_text:
        return connection.table("aegis_text")
    types = _types(database, names)
    typed = ", ".join(f"CAST({_quoted(name)} AS {types[name]}) AS {_quoted(name)}" for name in names)
    database.execute(f"CREATE TEMP TABLE aegis_data AS SELECT {typed} FROM aegis_text")  # noqa: S608  names are quoted
    database.execute("DROP TABLE aegis_text")
    return connection.table("aegis_data")


def _types(database: Any, names: list[str]) -> dict[str, str]:
    """The narrowest type of each column: proposed by the first rows, confirmed by all of them."""
    sample = f"(SELECT * FROM aegis_text LIMIT {_SAMPLE_ROWS})"  # noqa: S608  a constant
    types: dict[str, str] = {}
    for candidate in _LADDER:
        fitting = _fitting(database, {name: candidate for name in names if name not in types}, sample)
        types |= dict.fromkeys(fitting, candidate)
    unsure = {name: kind for name, kind in types.items() if kind != "VARCHAR"}
    while unsure:
        confirmed = _fitting(database, unsure, "aegis_text")
        unsure = {name: _WIDER.get(kind, "VARCHAR") for name, kind in unsure.items() if name not in confirmed}
        types |= unsure
        unsure = {name: kind for name, kind in unsure.items() if kind != "VARCHAR"}
    return types


def _fitting(database: Any, proposed: dict[str, str], source: str) -> set[str]:
    """The columns whose values all have the proposed form; a column without values has only the widest."""
    if not proposed:
        return set()
    tests = []
    for name, kind in proposed.items():
        fits = _LADDER[kind].format(_quoted(name))
        some = "" if kind == "VARCHAR" else f" AND count({_quoted(name)}) > 0"
        tests.append(f"coalesce(bool_and({_quoted(name)} IS NULL OR ({fits})), true){some}")
    answer = database.execute(f"SELECT {', '.join(tests)} FROM {source}").fetchone()  # noqa: S608  names are quoted
    return {name for name, fits in zip(proposed, answer, strict=True) if fits}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _header_line(path: Path, encoding: str) -> str:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig" if encoding == "utf-8" else encoding, newline="") as lines:
            header = lines.readline(1_000_000)
    except (UnicodeDecodeError, LookupError):
        raise DataError(f"{path.name} is not text in {encoding}; give its encoding, for example latin-1") from None
    except OSError as error:
        raise DataError(f"{path.name} cannot be read: {error.strerror}") from None
    if not header.strip():
        raise DataError(f"{path.name} is empty; it needs a header line and rows")
    return header.rstrip("\r\n")


def _delimiter(header: str) -> str:
    """The candidate that splits the header into most columns."""
    split = {candidate: len(next(csv.reader([header], delimiter=candidate))) for candidate in DELIMITERS}
    return max(DELIMITERS, key=lambda candidate: split[candidate])


def _names(header: str, delimiter: str, path: Path) -> list[str]:
    names = [name.strip() for name in next(csv.reader([header], delimiter=delimiter))]
    if any(not name for name in names):
        raise DataError(f"{path.name}: a column has no name; every field of the first line must be one")
    twice = [name for name, times in Counter(name.lower() for name in names).items() if times > 1]
    if twice:
        raise DataError(f"{path.name}: {len(twice)} column names occur twice; rename them")
    return names


def _explain(message: str, path: Path, delimiter: str, encoding: str) -> str:
    """One sentence from an engine's message, keeping the line number and none of the data."""
    line = re.search(r"Line: (\d+)", message)
    where = f"line {line[1]} of {path.name}" if line else path.name
    lowered = message.lower()
    if "unicode" in lowered or "not utf-8" in lowered:
        return f"{where} is not text in {encoding}; give its encoding, for example latin-1"
    if "number of columns" in lowered:
        shown = "tab" if delimiter == "\t" else delimiter
        return (
            f"{where} does not have as many fields as the header (delimiter {shown!r}); "
            "repair the row or give the right delimiter"
        )
    if "quote" in lowered:
        return f"{where} has a quote that is not closed; repair the row"
    return f"{where} cannot be read as a delimited file; check its delimiter, quotes and encoding"
