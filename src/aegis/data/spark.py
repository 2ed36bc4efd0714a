"""A Spark session at a URL: a cluster's, this machine's, or the one that Spark itself is configured for.

==========================  ======================================================================
URL                         what answers
==========================  ======================================================================
``spark://host:7077``       a standalone cluster, by the address of its master
``spark-local://2``         Spark on this machine with two threads; all cores without a number
``pyspark://``              whatever Spark is configured for: YARN, Kubernetes, a running session
==========================  ======================================================================

One process has one Spark: its first address stands until it ends.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aegis.data import delimited
from aegis.data.engine_words import in_our_words, quoted_name, quoted_text
from aegis.errors import DataError, EngineError, MissingExtraError

if TYPE_CHECKING:
    import ibis.expr.types as ir

SCHEMES = ("spark", "spark-local", "pyspark")
# Spark would draw bars over ours and tell its whole life on stderr.
_QUIET = {
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}
_ON_THIS_MACHINE = {"spark.ui.enabled": "false"}


def is_spark(url: str) -> bool:
    """Whether an address is one of Spark's.

    >>> is_spark("spark://host:7077"), is_spark("spark-local://2"), is_spark("postgres://host/db")
    (True, True, False)
    """
    return url.partition("://")[0].lower() in SCHEMES


def master_of(url: str) -> str | None:
    """What Spark calls the address; None where its own configuration decides.

    >>> master_of("spark-local://2"), master_of("spark-local://"), master_of("spark://host:7077")
    ('local[2]', 'local[*]', 'spark://host:7077')
    """
    scheme, _, rest = url.partition("://")
    scheme, rest = scheme.lower(), rest.rstrip("/")
    if scheme == "pyspark":
        if rest:
            raise EngineError("a pyspark:// address takes nothing more; use spark://host:port for a cluster")
        return None
    if scheme == "spark-local":
        if not re.fullmatch("([1-9][0-9]{0,3})?", rest):
            raise EngineError("a spark-local:// address takes a number of threads; write spark-local://2 for example")
        return f"local[{rest or '*'}]"
    if not rest:
        raise EngineError("a spark:// address needs host and port; write spark://host:7077, or spark-local://2")
    return f"spark://{rest}"


def connect_spark(url: str) -> Any:
    """The Ibis connection to the Spark session at ``url``, started if this process has none."""
    master = master_of(url)
    try:
        import ibis.backends.pyspark
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError(feature="Spark", extra="spark") from None
    import ibis

    session = SparkSession.getActiveSession()
    if session is None:
        session = _started(SparkSession, master)
    elif master is not None and session.sparkContext.master != master:
        raise EngineError("this process has a Spark session at another address already; use that one, or a new process")
    return ibis.pyspark.connect(session)


def _started(sessions: Any, master: str | None) -> Any:
    if not _java():
        raise EngineError(
            "Spark needs Java 17 or newer, and there is none; install it, or set JAVA_HOME to where it is"
        )
    builder = sessions.builder.appName("aegis")
    settings = dict(_QUIET)
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):
            settings |= _ON_THIS_MACHINE
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:  # its messages are pages long
        kind = type(error).__name__
        ours = EngineError(f"Spark cannot be started or reached ({kind}); check the address, the cluster and Java")
        raise in_our_words(error, ours) from None


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return home
    return shutil.which("java")


def fetched(expression: Any) -> Any:
    """What Spark answers, as an Arrow table; Ibis would go through pandas, which has no missing whole numbers."""
    import pyarrow as pa  # part of the core, imported late because only Spark needs it here

    backend = expression.get_backend()
    backend._run_pre_execute_hooks(expression)
    answer = backend.raw_sql(backend.compile(expression)).toArrow()
    # The session is in UTC, so a time with its zone and one without are the same.
    naive = [pa.timestamp("us") if pa.types.is_timestamp(field.type) else field.type for field in answer.schema]
    return answer.cast(pa.schema(zip(answer.column_names, naive, strict=True)))


def batches(expression: Any, rows: int = 20_000) -> Any:
    """The rows of a table as a stream of Arrow batches: one partition at a time is here, never all of them."""
    import pyarrow as pa

    backend = expression.get_backend()
    backend._run_pre_execute_hooks(expression)
    frame = backend.raw_sql(backend.compile(expression))
    # Times with a zone would come in the zone of this machine.
    zoned = [name for name, kind in frame.dtypes if kind == "timestamp"]
    frame = frame.withColumns({name: frame[name].cast("timestamp_ntz") for name in zoned}) if zoned else frame
    schema = expression.schema().to_pyarrow()
    schema = pa.schema(
        [pa.field(f.name, pa.timestamp("us") if pa.types.is_timestamp(f.type) else f.type) for f in schema]
    )

    def chunks() -> Iterator[Any]:
        source = frame.toLocalIterator(prefetchPartitions=False)
        while chunk := list(itertools.islice(source, rows)):
            columns = zip(*chunk, strict=True)
            arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
            yield pa.record_batch(arrays, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, chunks())


def placed(backend: Any, table: Any, name: str) -> Any:
    """A small Arrow table as a view of the session, for the same reason."""
    backend._session.createDataFrame(table).createOrReplaceTempView(name)
    return backend.table(name)


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
    except Exception as error:  # Spark quotes data and plans in its messages
        kind = Path(name).suffix.lstrip(".") or "parquet"
        ours = DataError(
            f"Spark has no table and finds no {kind} file called {Path(name).name!r} ({type(error).__name__}); "
            "give a table of its catalog, or a path that its workers can read"
        )
        raise in_our_words(error, ours) from None


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
