"""What an engine answers, as numpy: distinct values become a domain, values become codes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.data import spark
from aegis.data.dataset import expression_of
from aegis.data.domain import Domain
from aegis.data.embedded import EmbeddedRows
from aegis.data.engine_words import in_our_words, quoted_name
from aegis.data.kind import Kind, Values
from aegis.errors import EngineError

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from ibis.expr.operations import Node

    from aegis.data.dataset import Rows

NO_LIMIT = 10**9
"""More groups than any answer has."""
ARROW_TYPES = {
    Kind.INTEGER: pa.int64(),
    Kind.REAL: pa.float64(),
    Kind.TEXT: pa.string(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
}
"""How Arrow holds the values of each kind."""


def ask(rows: Rows) -> pa.Table:
    """Run a query; what an engine says when it fails may quote data, so only its kind is passed on."""
    if isinstance(rows, EmbeddedRows):
        return without_quotes(rows.answer)
    expression = rows
    backend = expression.get_backend()
    if backend.name == "duckdb":
        # The short way: Ibis would import pandas to convert what needs no converting.
        _place(expression)
        return without_quotes(lambda: backend.raw_sql(backend.compile(expression)).to_arrow_table())
    if backend.name == "pyspark":
        return without_quotes(lambda: spark.fetched(expression))
    return without_quotes(expression.to_pyarrow)


def without_quotes(question: Callable[[], pa.Table]) -> pa.Table:
    """The answer to a question, or an error that quotes no data."""
    try:
        return question()
    except Exception as error:
        kind = type(error).__name__
        ours = EngineError(f"the engine could not answer ({kind}); check that the table is still there and readable")
        raise in_our_words(error, ours) from None


def count_rows(rows: Rows) -> int:
    """How many rows a table has."""
    table = expression_of(rows)
    return int(ask(table.aggregate(n=table.count()))["n"][0].as_py())


def grouped(rows: Rows, columns: Mapping[str, ir.Column | str], *, limit: int) -> pa.Table:
    """The distinct combinations of ``columns``, by the names given, with how often each occurs as ``n``.

    A column is an expression, or the name of one that is counted as it is.
    """
    named = {name: column if isinstance(column, str) else _plain_name(rows, column) for name, column in columns.items()}
    asking = _in_sql(rows) if all(named.values()) else None
    if asking is not None:
        # The same few words for every column: phrasing them through Ibis costs more than most answers.
        listed = ", ".join(f"{quoted_name(column)} AS {quoted_name(name)}" for name, column in named.items() if column)
        return asking.answer(f"SELECT {listed}, count(*) AS n FROM ({asking.text}) AS t GROUP BY ALL LIMIT {limit}")  # noqa: S608
    import ibis

    table = expression_of(rows)
    chosen = table.select(
        **{name: table[column] if isinstance(column, str) else column for name, column in columns.items()}
    )
    return ask(chosen.group_by(list(columns)).aggregate(n=ibis._.count()).limit(limit))


def _plain_name(rows: Rows, column: ir.Column) -> str | None:
    """The name of a column that is one of ``rows`` as it is."""
    from ibis.expr.operations import Field

    field = column.op()
    return field.name if isinstance(field, Field) and field.rel == expression_of(rows).op() else None


def distinct_in_first(rows: Rows, names: Sequence[str], *, first: int) -> dict[str, int]:
    """How many distinct values each column has in the ``first`` rows."""
    asking = _in_sql(rows)
    if asking is not None:
        listed = ", ".join(f"count(DISTINCT {quoted_name(name)})" for name in names)
        answer = asking.answer(f"SELECT {listed} FROM (SELECT * FROM ({asking.text}) LIMIT {first})")  # noqa: S608
    else:
        peek = expression_of(rows).select(*names).limit(first)
        answer = ask(peek.aggregate([peek[name].nunique().name(f"c{i}") for i, name in enumerate(names)]))
    return {name: int(answer.column(i)[0].as_py()) for i, name in enumerate(names)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """Rows of embedded DuckDB as a text, and what answers a question that holds it."""

    text: str
    run: Callable[[str], Any]

    def answer(self, question: str) -> pa.Table:
        return without_quotes(lambda: self.run(question).to_arrow_table())


def _in_sql(rows: Rows) -> _Asking | None:
    """How to ask about rows in SQL; None where only Ibis speaks the engine's language."""
    if isinstance(rows, EmbeddedRows):
        return _Asking(text=rows.text, run=rows.connection.raw_sql)
    if rows.get_backend().name != "duckdb":
        return None
    _place(rows)
    return _Asking(text=_phrased(rows.op()), run=rows.get_backend().raw_sql)


def _place(expression: ir.Table) -> None:
    """Put tables that lie in memory where the engine finds them, which Ibis does only for what it asks itself."""
    from ibis.expr.operations import InMemoryTable

    if expression.op().find(InMemoryTable):
        expression.get_backend()._run_pre_execute_hooks(expression)


@lru_cache(maxsize=8)
def _phrased(table: Node) -> str:
    expression = table.to_expr()
    return str(expression.get_backend().compile(expression))


def encode(
    column: pa.ChunkedArray, kind: Kind, *, discretised: bool = False, out: NDArray[np.int64] | None = None
) -> tuple[Domain, NDArray[np.int64]]:
    """The domain of a column of grouped values, and the code of each, written to ``out`` if it is given."""
    if out is None:
        out = np.empty(len(column), dtype=np.int64)
    if kind is Kind.INTEGER and not column.null_count and len(column):
        near = _encode_near(plain(column), out)
        if near is not None:
            return Domain(kind=kind, values=near, discretised=discretised), out
    packed = column.combine_chunks().dictionary_encode()  # hashing in Arrow: sorting texts in numpy is slow
    _, values = to_numpy(packed.dictionary, kind)
    distinct, rank = np.unique(values, return_inverse=True)
    _look_up(packed, np.append(rank, len(distinct)), out)
    missing = packed.indices.null_count > 0
    return Domain(kind=kind, values=distinct, missing=missing, discretised=discretised), out


def _encode_near(values: NDArray[np.int64], out: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Distinct values of whole numbers that lie close together: a table of all between needs no hashing."""
    least, most = int(values.min()), int(values.max())
    if most - least > max(1 << 12, len(values)) or most >= 2**63:
        return None
    np.subtract(values, least, out=out, dtype=np.int64, casting="unsafe")  # a narrow type may not hold the difference
    present = np.zeros(most - least + 1, dtype=bool)
    present[out] = True
    distinct = np.flatnonzero(present) + least
    if len(distinct) < len(present):  # otherwise the distance from the least is the code already
        out[:] = (np.cumsum(present) - 1).take(out)
    return distinct


def codes_in(column: pa.ChunkedArray, domain: Domain) -> NDArray[np.int64]:
    """The code of each value in a domain that is known already."""
    packed = column.combine_chunks().dictionary_encode()  # every distinct value is looked up once
    _, values = to_numpy(packed.dictionary, domain.kind)
    codes = np.empty(len(column), dtype=np.int64)
    _look_up(packed, np.append(domain.codes(values), len(domain.values)), codes)
    return codes


def _look_up(packed: pa.DictionaryArray, codes: NDArray[np.int64], out: NDArray[np.int64]) -> None:
    """Write the code of every entry, given that of each value of the dictionary and, last, that of a missing one."""
    if not packed.indices.null_count:
        # All indices lie within; saying "clip" spares numpy a copy that it could fall back on.
        codes.take(plain(packed.indices), out=out, mode="clip")
        return
    out.fill(codes[-1])  # Arrow's own way to fill what is missing imports pandas
    out[plain(packed.indices.is_valid()).astype(bool)] = codes[plain(packed.indices.drop_null())]


def to_numpy(column: pa.ChunkedArray, kind: Kind) -> tuple[NDArray[np.bool_], Values]:
    """Which entries are present, and their values in the kind's own type."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    present = plain(column.is_valid()).astype(bool)
    valid = column.drop_null()
    if kind is Kind.TEXT:
        values = np.asarray(valid.cast(pa.string()).to_pylist(), dtype=object)
    else:
        values = plain(valid).astype(kind.dtype)
    return present, values


def plain(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Numbers, truth values, dates and times without nulls as numpy has them.

    Arrow's own conversion imports pandas, which costs more than most questions here.
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = array.type
    if pa.types.is_boolean(kind):
        return np.from_dlpack(array.cast(pa.uint8()))
    if pa.types.is_date32(kind):
        return np.from_dlpack(array.cast(pa.int32())).astype("datetime64[D]")
    if pa.types.is_timestamp(kind):
        return np.from_dlpack(array.cast(pa.timestamp("us")).cast(pa.int64())).view("datetime64[us]")
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.from_dlpack(array)
    return np.asarray(array.to_numpy(zero_copy_only=False))
