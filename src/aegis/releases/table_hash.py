"""A hash of the rows of a table, whatever their order, that the engine computes itself: one sum leaves it.

Each row becomes one text, in which every value is preceded by its length so that no two rows share a text; the SHA-256
of the texts are added as numbers of 256 bits. Engines write decimals and times in their own ways, so a table has the
hash of the engine it lies in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import add
from typing import Any

import ibis
import ibis.expr.types as ir

from aegis.counts.answer import ask

_MODULUS = 1 << 256
Digits = Callable[[Any], list[tuple[Any, int]]]
"""The SHA-256 of a text as numbers to be summed, each with what it counts for."""


# Functions that Ibis does not know, or writes at length: the beginning of a text; Spark's change of base; PostgreSQL's
# bytes of a text, their hash, and one of them.
_left: Any = ibis.udf.scalar.builtin(
    lambda text, characters: None, name="left", signature=(("string", "int8"), "string")
)
_conv: Any = ibis.udf.scalar.builtin(
    lambda number, base, other: None, name="conv", signature=(("string", "int8", "int8"), "string")
)
_convert_to: Any = ibis.udf.scalar.builtin(
    lambda text, encoding: None, name="convert_to", signature=(("string", "string"), "binary")
)
_sha256: Any = ibis.udf.scalar.builtin(lambda content: None, name="sha256", signature=(("binary",), "binary"))
_get_byte: Any = ibis.udf.scalar.builtin(
    lambda content, place: None, name="get_byte", signature=(("binary", "int32"), "int32")
)


def sha256_of_table(table: ir.Table) -> str:
    """The hash of the names of the columns and of all rows."""
    texts = table.select(row=row_text(table, table.columns))
    digits = _DIGITS.get(table.get_backend().name)
    total = _summed_here(texts) if digits is None else _summed_there(texts, digits)
    head = repr(tuple(table.columns)).encode()
    return hashlib.sha256(head + (total % _MODULUS).to_bytes(32, "big")).hexdigest()


def row_text(table: ir.Table, columns: Sequence[str]) -> ir.Column:
    """Some columns of a row as one text, each value preceded by its length so that no two rows share a text."""
    values = [table[name].cast("string") for name in columns]
    first, *others = [v.length().cast("string").concat(":", v).fill_null("-") for v in values]
    return first.concat(*others) if others else first


def _summed_there(texts: ir.Table, digits: Digits) -> int:
    parts = digits(texts.row)
    stored = texts.select(**{f"d{i}": part for i, (part, _) in enumerate(parts)})
    answer = ask(stored.aggregate(**{f"s{i}": stored[f"d{i}"].sum() for i in range(len(parts))}))
    return sum(int(answer[f"s{i}"][0].as_py() or 0) * weight for i, (_, weight) in enumerate(parts))


def _summed_here(texts: ir.Table) -> int:
    """Where an engine has no such hash: the texts come in batches."""
    return sum(
        int.from_bytes(hashlib.sha256(row.encode()).digest(), "big")
        for batch in texts.to_pyarrow_batches(chunk_size=50_000)
        for row in batch.column(0).to_pylist()
    )


def short_digest(text: Any, *, backend: str) -> Any:
    """The first 56 bits of the SHA-256 of a text, as a number that the engine computes."""
    if backend == "postgres":
        digest = _sha256(_convert_to(text, "UTF8"))
        return reduce(add, (_get_byte(digest, place).cast("int64") * (1 << (8 * (6 - place))) for place in range(7)))
    digits = _left(text.hexdigest("sha256"), 14)
    if backend == "pyspark":
        return _conv(digits, 16, 10).cast("int64")
    return ("0x" + digits).cast("int64")


def _eights(digest: Any) -> Iterator[tuple[Any, int]]:
    """Eight hexadecimal digits at a time: 32 bits, so that the sum of two billion rows has room."""
    for part in range(8):
        yield digest.substr(8 * part, 8), 1 << (32 * (7 - part))


def _in_duckdb(text: Any) -> list[tuple[Any, int]]:
    return [(("0x" + digits).cast("int64"), weight) for digits, weight in _eights(text.hexdigest("sha256"))]


def _in_spark(text: Any) -> list[tuple[Any, int]]:
    return [(_conv(digits, 16, 10).cast("int64"), weight) for digits, weight in _eights(text.hexdigest("sha256"))]


def _in_postgres(text: Any) -> list[tuple[Any, int]]:
    digest = _sha256(_convert_to(text, "UTF8"))
    return [(_get_byte(digest, place), 1 << (8 * (31 - place))) for place in range(32)]


_DIGITS: dict[str, Digits] = {"duckdb": _in_duckdb, "pyspark": _in_spark, "postgres": _in_postgres}
