"""What engines do each in their own way: rows at random, and small tables of our own beside theirs."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import ibis

from aegis.data import spark

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

# Spark's random numbers with a seed; Ibis knows only those without.
_rand: Any = ibis.udf.scalar.builtin(lambda seed: None, name="rand", signature=(("int64",), "float64"))


def sampled(table: ir.Table, fraction: float, *, seed: int) -> ir.Table:
    """Each row with probability ``fraction``.

    PostgreSQL draws by the seed of its session, which is set now: the sample must be the next thing asked of it.
    Engines without a seed draw as they please.
    """
    backend = table.get_backend()
    if backend.name == "duckdb":
        return table.sample(fraction, method="row", seed=seed)
    if backend.name == "pyspark":
        return table.filter(_rand(seed) < fraction)
    if backend.name == "postgres":
        backend.raw_sql(f"SELECT setseed({seed % 1_000_003 / 1_000_003!r})").close()
    return table.filter(ibis.random() < fraction)


def lookup_table(backend: Any, table: pa.Table) -> ir.Table:
    """``table`` as an expression that queries of ``backend`` may join."""
    if backend.name == "pyspark":
        return spark.placed(backend, table, f"aegis_lookup_{secrets.token_hex(6)}")
    return ibis.memtable(table)
