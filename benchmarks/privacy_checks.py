"""What judging k, l and t of a million records costs beside the GROUP BY that counts them.

A made table of 1M rows × 8 quasi-identifiers and a sensitive column is counted by DuckDB; its answer becomes a class
table, which three models judge. CPU seconds, the best of three.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import duckdb
import numpy as np

from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.privacy.judgement import judge_all
from aegis.privacy.policy import Policy

ROWS, SEED = 1_000_000, 7
SIZES = {
    "even": (80, 10, 20, 30, 5, 50, 10, 10),  # nearly every record is alone
    "clustered": (12, 4, 6, 5, 2, 8, 3, 3),  # tens of records a class
}
VALUES = 100


def made(sizes: tuple[int, ...], rng: np.random.Generator) -> dict[str, Any]:
    columns = {
        f"q{i}": np.minimum(rng.geometric(min(0.7, 4 / size), ROWS) - 1, size - 1) for i, size in enumerate(sizes)
    }
    return {**columns, "s": np.minimum(rng.geometric(0.05, ROWS) - 1, VALUES - 1)}


def best(run: Callable[[], Any]) -> tuple[float, Any]:
    seconds, answer = np.inf, None
    for _ in range(3):
        start = time.process_time()
        answer = run()
        seconds = min(seconds, time.process_time() - start)
    return round(float(seconds), 4), answer


def measured(sizes: tuple[int, ...]) -> dict[str, Any]:
    rows = made(sizes, np.random.default_rng(SEED))
    quasi = [name for name in rows if name != "s"]
    connection = duckdb.connect()
    connection.register("arrays", rows)
    connection.execute("create table t as select * from arrays")
    query = f"select {', '.join(rows)}, count(*) as n from t group by {', '.join(rows)}"
    group_by, counted = best(lambda: connection.execute(query).fetchnumpy())
    numbers = [Domain.of(Kind.INTEGER, np.arange(size)) for size in sizes]

    def table() -> ClassTable:
        return ClassTable.from_codes(
            columns=quasi,
            domains=numbers,
            codes=np.array([counted[name] for name in quasi]).T,
            counts=counted["n"],
            contents={"s": (Domain.of(Kind.INTEGER, np.arange(VALUES)), counted["s"])},
        )

    build, classes = best(table)
    result: dict[str, Any] = {
        "rows": ROWS,
        "domain_sizes": list(sizes),
        "classes": classes.classes,
        "group_by_cpu_s": group_by,
        "class_table_cpu_s": build,
    }
    for name, text in {
        "k": "k: 5",
        "distinct_l": "l: {s: 2}",
        "entropy_l": "l: {s: {kind: entropy, l: 2}}",
        "recursive_l": "l: {s: {kind: recursive, c: 3, l: 2}}",
        "t_equal": "t: {s: 0.2}",
        "t_ordered": "t: {s: {distance: ordered, t: 0.2}}",
    }.items():
        model = Policy.from_yaml(text).models[0]
        result[f"{name}_cpu_s"] = best(lambda model=model: model.judge(classes))[0]  # type: ignore[misc]
    policy = Policy.from_yaml("k: 5\nl: {s: 2}\nt: {s: {distance: ordered, t: 0.2}}")
    result["policy_k_l_t_cpu_s"] = best(lambda: judge_all(classes, policy, suppress=False))[0]
    total = build + result["policy_k_l_t_cpu_s"]
    result["whole_check_over_group_by"] = round((group_by + total) / group_by, 3)
    return result


def main() -> None:
    tables = {name: measured(sizes) for name, sizes in SIZES.items()}
    for name, result in tables.items():
        print(name, result)
    import_module("_result").write("privacy_checks", {"seed": SEED, "sensitive_values": VALUES, "tables": tables})


if __name__ == "__main__":
    main()
