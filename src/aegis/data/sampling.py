"""Rows at random, the same ones for the same seed, in the words of each engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ibis

if TYPE_CHECKING:
    import ibis.expr.types as ir

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
