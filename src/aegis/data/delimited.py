"""CSV and its relatives, read strictly: what does not fit is an error with a line number, never a guess.

The file is parsed once, as text; then each column gets the narrowest type that every one of its values fits. Codes
with a leading zero stay text: a zip code is not a number. So do whole numbers of more digits than a number can tell
apart: two keys must not become one.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from aegis.data.engine_words import in_our_words, quoted_name, quoted_text
from aegis.data.kind import Kind
from aegis.data.unpacked import as_utf8, evened, unpacked
from aegis.errors import DataError
from aegis.plural import count

if TYPE_CHECKING:
    import ibis.expr.types as ir

DELIMITERS = (",", ";", "\t", "|")
# What Python calls an encoding, and what the engine calls it.
_ENCODINGS = {"utf-8": "utf-8", "utf-8-sig": "utf-8", "ascii": "utf-8", "iso8859-1": "latin-1", "utf-16": "utf-16"}

# From narrow to wide: the SQL type and the condition that a text has that form.
_LADDER = {
    "BOOLEAN": "lower({0}) IN ('true', 'false')",
    "BIGINT": "TRY_CAST({0} AS BIGINT) IS NOT NULL AND NOT regexp_full_match({0}, '[+-]?0[0-9].*|.*[.eE_].*')",
    # A double tells whole numbers of up to 15 digits apart; 1234567890123456.0 is how doubles themselves are written.
    "DOUBLE": "TRY_CAST({0} AS DOUBLE) IS NOT NULL AND NOT "
    "regexp_full_match(trim({0}), '[+-]?0[0-9].*|.*_.*|[+-]?[0-9]{{16,}}|[+-]?[0-9]{{17,}}[.][0-9]*')",
    "DATE": "length({0}) = 10 AND TRY_CAST({0} AS DATE) IS NOT NULL",
    "TIMESTAMP": "length({0}) > 10 AND TRY_CAST({0} AS TIMESTAMP) IS NOT NULL",
}
_WIDEST = "VARCHAR"
_WIDER = {"BIGINT": "DOUBLE"}
_STATED = {
    Kind.BOOLEAN: "CASE WHEN lower({0}) IN ('true', 'false') THEN CAST({0} AS BOOLEAN) END",
    Kind.INTEGER: "CASE WHEN NOT regexp_full_match({0}, '.*[.eE_].*') THEN TRY_CAST({0} AS BIGINT) END",
    Kind.REAL: "TRY_CAST({0} AS DOUBLE)",
    Kind.DATE: "TRY_CAST({0} AS DATE)",
    Kind.TIMESTAMP: "TRY_CAST({0} AS TIMESTAMP)",
    Kind.TEXT: "{0}",
}
"""The values of a column whose kind somebody states; nothing where a text does not have its form."""
_SAMPLE_ROWS = 10_000
_SAMPLE = f"(SELECT * FROM aegis_text LIMIT {_SAMPLE_ROWS})"  # noqa: S608  a constant

# What a record holds and a name seldom is; the first form that fits is the form of a field.
_RECORD_FORMS = {
    "year": "(19|20)[0-9][0-9]",
    "number": "[+-]?([0-9]+[.,]?[0-9]*|[.,][0-9]+)([eE][+-]?[0-9]+)?",
    "date": "[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}([ T].*)?",
    "e-mail": "[^@ ]+@[^@ ]+[.][^@ ]+",
}
_NEARLY_ALL = 0.95


def read(
    connection: Any,
    path: Path,
    *,
    delimiter: str | None,
    encoding: str,
    missing: Sequence[str] = (),
    as_text: bool = False,
    texts: Sequence[str] = (),
    kinds: Mapping[str, Kind] | None = None,
    header: str | None = None,
) -> ir.Table:
    """Load a delimited file into a temporary table of an embedded DuckDB; ``as_text`` leaves values as written.

    ``texts`` are columns that stay text, whatever they look like: somebody else reads them. What ``kinds`` states
    of a column is not asked of its rows, and what is written in another way is missing.
    ``header`` is its first line, where somebody has looked into the file before: it is not opened for that once more.
    """
    codec = _codec(encoding)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise DataError("the delimiter must be one character, such as a comma, a semicolon, a tab or a bar")
    encoding = _ENCODINGS.get(codec, "utf-8")
    with unpacked(path) as plain, as_utf8(plain, None if codec in _ENCODINGS else codec, named=path.name) as readable:
        header = _header_line(readable, encoding, named=path.name) if header is None else header
        delimiter = delimiter or delimiter_of(header)
        names = names_of(header, delimiter, path)
        database = connection.con
        columns = "{" + ", ".join(f"{quoted_text(name)}: 'VARCHAR'" for name in names) + "}"
        nulls = "[" + ", ".join(quoted_text(text) for text in ("", *missing)) + "]"
        parsed = (
            f"read_csv({quoted_text(str(readable))}, delim={quoted_text(delimiter)}, quote='\"', escape='\"', "
            f"header=true, auto_detect=false, columns={columns}, nullstr={nulls}, encoding={quoted_text(encoding)}, "
            "strict_mode=true, null_padding=false)"
        )
        try:
            _load(database, parsed, readable, encoding)
            fields = _record_fields(database, names)
            if not fields and not as_text:
                stated = {name: _STATED[kind] for name, kind in (kinds or {}).items() if name not in texts}
                types = _types(database, names, (*texts, *stated))
                forms = {name: f"CAST({{0}} AS {types[name]})" for name in names} | stated
                typed = ", ".join(f"{forms[name].format(quoted_name(name))} AS {quoted_name(name)}" for name in names)
                database.execute(f"CREATE TEMP TABLE aegis_data AS SELECT {typed} FROM aegis_text")  # noqa: S608  quoted
                database.execute("DROP TABLE aegis_text")
        except Exception as error:  # the engine quotes the line in its message: say it in our own words
            raise in_our_words(error, DataError(_explain(str(error), path, delimiter, encoding))) from None
        if fields:  # its names would be cell values, and every later message could show them
            raise DataError(
                f"the first line of {path.name} looks like a record, not a header: {fields} of its fields are numbers, "
                "dates or other values of the kind that their columns hold; add a header line"
            )
        return connection.table("aegis_text" if as_text else "aegis_data")


def _load(database: Any, parsed: str, plain: Path, encoding: str) -> None:
    """Parse the file into ``aegis_text``; where its lines end in different ways, a copy in which they do not."""
    try:
        database.execute(f"CREATE TEMP TABLE aegis_text AS FROM {parsed}")
    except Exception as error:
        if "invalid state" not in str(error) or encoding == "utf-16":
            raise
        with evened(plain) as even:
            again = parsed.replace(quoted_text(str(plain)), quoted_text(str(even)), 1)
            database.execute(f"CREATE TEMP TABLE aegis_text AS FROM {again}")


def _record_fields(database: Any, names: list[str]) -> int:
    """How many fields of the first line give it away as a record; 0 for a header.

    A number, date or e-mail address does when its column holds the same. A text does when its column holds it too,
    beside others, and half of the columns do so: a column may have a value of its name (a choice in a survey has).
    """
    forms = [_form(name) for name in names]
    tests = ["count(*)"]
    for name, form in zip(names, forms, strict=True):
        text = f"trim({quoted_name(name)})"
        shape = quoted_text(_RECORD_FORMS[form]) if form else ""
        share = f"avg(CAST(regexp_full_match({text}, {shape}) AS INTEGER))" if form else "0.0"
        tests += [
            f"coalesce({share}, 0.0)",
            f"coalesce(bool_or({text} = {quoted_text(name)}) AND bool_or({text} <> {quoted_text(name)}), false)",
        ]
    rows, *answers = database.execute(f"SELECT {', '.join(tests)} FROM {_SAMPLE}").fetchone()  # noqa: S608  quoted
    numbers = [name for name, form in zip(names, forms, strict=True) if form in ("year", "number")]
    counted = _is_counted(numbers)
    typical = {
        name
        for name, form, share in zip(names, forms, answers[::2], strict=True)
        if form and (rows == 0 or share >= _NEARLY_ALL) and not (counted and name in numbers)
    }
    recurring = {name for name, recurs in zip(names, answers[1::2], strict=True) if recurs}
    return len(typical | recurring) if typical or 2 * len(recurring) >= len(names) else 0


def looks_like_values(names: list[str]) -> bool:
    """Whether a first line holds numbers, dates or addresses where nobody can look at what its columns hold.

    >>> looks_like_values(["39", "State-gov", "77516"]), looks_like_values(["age", "2019", "2020"])
    (True, False)
    """
    forms = {name: form for name in names if (form := _form(name)) is not None}
    numbers = [name for name, form in forms.items() if form in ("year", "number")]
    return len(forms) > len(numbers) or bool(numbers and not _is_counted(numbers))


def _form(name: str) -> str | None:
    return next((form for form, pattern in _RECORD_FORMS.items() if re.fullmatch(pattern, name)), None)


def _is_counted(numbers: list[str]) -> bool:
    """Whether number-like names count something: columns of years (2019, 2020), or numbered columns (0, 1, 2).

    >>> _is_counted(["2019", "2020"]), _is_counted(["1", "2", "3"]), _is_counted(["39", "77516", "13"])
    (True, True, False)
    """
    if not all(re.fullmatch("[0-9]{1,6}", number) for number in numbers):
        return False
    steps = [int(after) - int(before) for before, after in itertools.pairwise(numbers)]
    if all(re.fullmatch(_RECORD_FORMS["year"], number) for number in numbers):
        return len(set(steps)) == 1 and (abs(steps[0]) == 1 or (len(steps) > 1 and steps[0] != 0))
    return len(steps) > 1 and set(steps) == {1}


def _types(database: Any, names: list[str], texts: Sequence[str]) -> dict[str, str]:
    """The narrowest type of each column but ``texts``: proposed by the first rows, confirmed by all of them.

    One value of each column settles most of it: what does not fit a single value is not tried on the others.
    """
    some_value = ", ".join(f"any_value({quoted_name(name)}) AS {quoted_name(name)}" for name in names)
    database.execute(f"CREATE TEMP TABLE aegis_one AS SELECT {some_value} FROM aegis_text")  # noqa: S608  quoted
    values = database.execute("FROM aegis_one").fetchone()
    filled = [name for name, value in zip(names, values, strict=True) if value is not None and name not in texts]
    types: dict[str, str] = {}
    for candidate in _LADDER:
        possible = _fitting(database, {name: candidate for name in filled if name not in types}, "aegis_one")
        fitting = _fitting(database, dict.fromkeys(possible, candidate), _SAMPLE)
        types |= dict.fromkeys(fitting, candidate)
    database.execute("DROP TABLE aegis_one")
    unsure = types
    while unsure:
        confirmed = _fitting(database, unsure, "aegis_text")
        wider = {name: _WIDER.get(kind, _WIDEST) for name, kind in unsure.items() if name not in confirmed}
        types = types | wider
        unsure = {name: kind for name, kind in wider.items() if kind != _WIDEST}
    return {name: types.get(name, _WIDEST) for name in names}


def _fitting(database: Any, proposed: dict[str, str], source: str) -> set[str]:
    """The columns whose values all have the proposed form."""
    if not proposed:
        return set()
    tests = []
    for name, kind in proposed.items():
        fits = _LADDER[kind].format(quoted_name(name))
        tests.append(f"coalesce(bool_and({fits}) FILTER ({quoted_name(name)} IS NOT NULL), true)")
    answer = database.execute(f"SELECT {', '.join(tests)} FROM {source}").fetchone()  # noqa: S608  names are quoted
    return {name for name, fits in zip(proposed, answer, strict=True) if fits}


def _codec(name: str) -> str:
    """What Python calls an encoding, or an error where there is none of that name."""
    try:
        encoding = codecs.lookup(name).name
        "".encode(encoding)  # some codecs are no encodings of text
    except (LookupError, ValueError):
        raise DataError(f"there is no encoding called {name!r}; give one such as utf-8 or latin-1") from None
    return encoding


def checked_encoding(name: str) -> str:
    """What engines call an encoding, or an error where they cannot read it."""
    encoding = _codec(name)
    if encoding not in _ENCODINGS:
        raise DataError(f"files in {name} cannot be read; convert it to utf-8 (utf-8, latin-1 and utf-16 are read)")
    return _ENCODINGS[encoding]


def _header_line(path: Path, encoding: str, *, named: str) -> str:
    try:
        with path.open("rb") as file:
            return header_in(file, named=named, encoding=encoding)
    except OSError as error:
        raise DataError(f"{named} cannot be read: {error.strerror}") from None


def header_in(file: IO[bytes], *, named: str, encoding: str = "utf-8") -> str:
    """The first line of an open file, which is read from its beginning."""
    lines = io.TextIOWrapper(file, encoding="utf-8-sig" if encoding == "utf-8" else encoding, newline="")
    try:
        header = lines.readline(1_000_000)
    except UnicodeError:
        raise DataError(
            f"{named} is not text in {encoding}; name its encoding, for example --encoding latin-1"
        ) from None
    finally:
        lines.detach()  # whoever opened it closes it
    if _ends_quoted(header):
        raise DataError(
            f"the header of {named} has a quote that is not closed on its line; close it, and write each column name "
            "on one line"
        )
    if not header.strip():
        raise DataError(f"{named} is empty; it needs a header line and rows")
    return header.rstrip("\r\n")


def _ends_quoted(line: str) -> bool:
    """Whether a field that a quote opened goes on after the line.

    >>> _ends_quoted('a,"b'), _ends_quoted('a,"b""'), _ends_quoted('a,"b,"'), _ends_quoted('5" pipe,b')
    (True, True, False, False)
    """
    quoted, before = False, ""
    for mark in re.findall(r'"+|[^"]+', line):
        if mark[0] != '"':
            before = mark[-1]
        elif quoted:
            quoted = len(mark) % 2 == 0  # two stand for one
        else:
            quoted = (not before or before in DELIMITERS) and len(mark) % 2 == 1
    return quoted


def delimiter_of(header: str) -> str:
    """The candidate that splits the header into most columns."""
    split = {candidate: len(next(csv.reader([header], delimiter=candidate))) for candidate in DELIMITERS}
    return max(DELIMITERS, key=lambda candidate: split[candidate])


def names_of(header: str, delimiter: str, path: Path) -> list[str]:
    """The names of the columns, none of them empty or used twice."""
    names = [name.strip() for name in next(csv.reader([header], delimiter=delimiter))]
    if any(not name for name in names):
        raise DataError(f"{path.name}: a column has no name; every field of the first line must be one")
    twice = sum(times > 1 for times in Counter(names).values())
    alike = sum(times > 1 for times in Counter(name.lower() for name in set(names)).values())
    # The names stay unsaid: the line may be a record, and they its values.
    if twice:
        raise DataError(f"{path.name}: the first line has {count(twice, 'column name')} more than once; rename them")
    if alike:
        raise DataError(
            f"{path.name}: the first line has {count(alike, 'column name')} more than once, apart from upper and "
            "lower case; rename them"
        )
    return names


def _explain(message: str, path: Path, delimiter: str, encoding: str) -> str:
    """One sentence from an engine's message, keeping the line number and none of the data."""
    line = re.search(r"Line: (\d+)", message)
    where = f"line {line[1]} of {path.name}" if line else path.name
    lowered = message.lower()
    if "unicode" in lowered or "not utf-8" in lowered:
        return f"{where} is not text in {encoding}; name its encoding, for example --encoding latin-1"
    if "number of columns" in lowered:
        shown = "tab" if delimiter == "\t" else delimiter
        return (
            f"{where} does not have as many fields as the header (delimiter {shown!r}); "
            "repair the row or give the right delimiter"
        )
    if "invalid state" in lowered:
        return f"{where} has lines that end in different ways; save it again with one kind of line end"
    if "quote" in lowered:
        return f"{where} has a quote that is not closed; repair the row"
    return f"{where} cannot be read as a delimited file; check its delimiter, quotes and encoding"
