"""Digests of rows, computed where the rows lie.

Under a key they are how a ledger knows a row again without keeping its values. Without one their sum is the hash of a
table, whatever the order of its rows: each row becomes one text, and the SHA-256 of the texts are added as numbers of
256 bits. Engines write decimals and times in their own ways, so a table has the hash of the engine it lies in.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import ibis
import ibis.expr.types as ir
import numpy as np

from aegis.arrays import Codes
from aegis.counts.answer import ask
from aegis.errors import LedgerError

OWN = "_aegis_ledger_"
"""What the names of columns begin with that are not part of a table."""

ROW = f"{OWN}row"
"""The column that names a row by its digest."""

WHOLE = f"{OWN}whole"
"""The column that holds a digest of everything in the row."""

POSITION = f"{OWN}position"
"""The column with the place of a row in the source, where the engine has an order of rows."""

ENGINES = ("duckdb", "postgres", "pyspark")
_STEP = 0x9E3779B97
"""Added to the digest of the second of two equal rows, twice to that of the third: 2**26 of them stay below 2**63."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Digests:
    """Digests under one key; ``rows_by`` are the columns that tell one row from another.

    Where these are all columns a row that was changed is another row. Equal rows are numbered.
    """

    key: bytes
    rows_by: tuple[str, ...]
    columns: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Digests(by {len(self.rows_by)} of {len(self.columns)} columns)"

    def of(self, table: ir.Table, columns: Sequence[str], *, purpose: str) -> ir.Column:
        """A digest of some columns; equal ones for another ``purpose`` have nothing in common."""
        backend = table.get_backend().name
        if backend not in ENGINES:
            raise LedgerError(
                f"a ledger needs {', '.join(ENGINES[:-1])} or {ENGINES[-1]} to know rows again, and the table lies in "
                f"{backend}; give --ledger none"
            )
        secret = hmac.new(self.key, purpose.encode(), hashlib.sha256).hexdigest()
        return short_digest(ibis.literal(secret) + row_text(table, columns), backend=backend)

    def named_by_columns(self, table: ir.Table) -> ir.Table:
        """The table with the columns `ROW` and `POSITION`, as in `named` where no two rows have the same digest.

        Costs little where few columns tell rows apart: no more than these is read.
        """
        return table.mutate(**{ROW: self.of(table, self.rows_by, purpose="row"), POSITION: ibis.row_number()})

    def named(self, table: ir.Table) -> ir.Table:
        """The table with the columns `ROW`, `WHOLE` and `POSITION`; of rows with the same digest each has its own."""
        whole = self.of(table, self.columns, purpose="all")
        digest = whole if self.rows_by == self.columns else self.of(table, self.rows_by, purpose="row")
        rows = table.mutate(**{ROW: digest, WHOLE: whole, POSITION: ibis.row_number()})
        number = ibis.row_number().over(group_by=rows[ROW], order_by=rows[WHOLE])
        return rows.mutate(**{ROW: rows[ROW] + number.cast("int64") * _STEP})

    def version(self, wholes: Codes) -> str:
        """A digest of all rows, whatever their order: equal for equal versions of the table."""
        together = f"version:{len(wholes)}:{int(np.bitwise_xor.reduce(wholes))}:{_exact_sum(wholes)}"
        return hmac.new(self.key, together.encode(), hashlib.sha256).hexdigest()


def _exact_sum(numbers: Codes) -> int:
    """The sum of many numbers of 56 bits, without overflow."""
    low = int((numbers & ((1 << 28) - 1)).sum())
    return (int((numbers >> 28).sum()) << 28) + low


def codes_of(digests: Codes) -> Codes:
    """Digests as small numbers, in the order of the digests."""
    return np.unique(digests, return_inverse=True)[1].astype(np.int64)


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
