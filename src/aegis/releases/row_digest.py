"""Keyed digests of rows, computed where the rows lie: how a ledger knows a row again without keeping its values."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass

import ibis
import ibis.expr.types as ir
import numpy as np

from aegis.arrays import Codes
from aegis.errors import LedgerError
from aegis.releases.table_hash import row_text, short_digest

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
