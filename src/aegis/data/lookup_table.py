"""Small tables of our own beside the rows of an engine, to be joined there."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import ibis

from aegis.data import spark

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa


def lookup_table(backend: Any, table: pa.Table) -> ir.Table:
    """``table`` as an expression that queries of ``backend`` may join."""
    if backend.name == "pyspark":
        return spark.placed(backend, table, f"aegis_lookup_{secrets.token_hex(6)}")
    return ibis.memtable(table)
