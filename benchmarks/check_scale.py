"""What a whole check of k, l and t costs beside the bare GROUP BY over the same columns.

A made table of 1M rows × 8 quasi-identifiers (texts and numbers) and a sensitive column lies in DuckDB. The bare query
groups by all nine columns and fetches the counts as Arrow; the check is `aegis.check` with a policy of k, distinct l
and ordered t, from the opened table to its verdicts. CPU seconds of the whole process, engine threads included: the
median of several rounds in which the two take turns.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import ibis
import numpy as np
import pyarrow as pa

import aegis
from _result import write
from aegis.privacy.policy import Policy

ROWS, SEED, ROUNDS = 1_000_000, 7, 9
SIZES = {
    "clustered": (12, 4, 6, 5, 2, 8, 3, 3),  # tens of records a class
    "even": (80, 10, 20, 30, 5, 50, 10, 10),  # nearly every record is alone
}
VALUES = 100
POLICY = Policy.from_mapping(
    {
        "quasi_identifying": [f"q{i}" for i in range(8)],
        "k": 5,
        "l": {"s": 2},
        "t": {"s": {"distance": "ordered", "t": 0.2}},
    }
)


def made(sizes: tuple[int, ...]) -> pa.Table:
    """Every second quasi-identifier is a text."""
    rng = np.random.default_rng(SEED)
    columns: dict[str, Any] = {}
    for i, size in enumerate(sizes):
        codes = np.minimum(rng.geometric(min(0.7, 4 / size), ROWS) - 1, size - 1)
        names = pa.array([f"value {code}" for code in range(size)])
        columns[f"q{i}"] = names.take(pa.array(codes)) if i % 2 else pa.array(codes)
    return pa.table({**columns, "s": np.minimum(rng.geometric(0.05, ROWS) - 1, VALUES - 1)})


def cpu(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def measured(sizes: tuple[int, ...]) -> dict[str, Any]:
    connection = ibis.duckdb.connect()
    table = connection.create_table("t", ibis.memtable(made(sizes)))
    names = ", ".join(table.columns)
    query = f"SELECT {names}, count(*) AS n FROM t GROUP BY {names}"
    dataset = aegis.open_dataset(table)

    def group_by() -> None:
        connection.con.execute(query).to_arrow_table()

    def check() -> Any:
        return aegis.check(dataset, policy=POLICY, suppress=False)

    found = check()
    group_by()
    rounds = [(cpu(group_by), cpu(check)) for _ in range(ROUNDS)]
    bare, whole = (statistics.median(times) for times in zip(*rounds, strict=True))
    return {
        "rows": ROWS,
        "domain_sizes": list(sizes),
        "classes": found.classes,
        "group_by_cpu_s": round(bare, 3),
        "check_cpu_s": round(whole, 3),
        "check_over_group_by": round(statistics.median(c / g for g, c in rounds), 3),
        "rounds": [[round(g, 3), round(c, 3)] for g, c in rounds],
    }


def main() -> None:
    tables = {name: measured(sizes) for name, sizes in SIZES.items()}
    for name, result in tables.items():
        print(name, result)
    write("check_scale", {"seed": SEED, "policy": POLICY.to_mapping(), "sensitive_values": VALUES, "tables": tables})


if __name__ == "__main__":
    main()
