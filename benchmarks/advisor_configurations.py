"""What one more configuration costs: 25 attributes with up to 1,000 values, 10,000 generated configurations."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa

import aegis
from _result import write


def table(rows: int, rng: np.random.Generator) -> pa.Table:
    columns = {f"a{i:02d}": rng.integers(0, [2, 10, 50, 200, 1000][i % 5], rows) for i in range(25)}
    told = sum(columns[f"a{i:02d}"] / columns[f"a{i:02d}"].max() for i in (1, 4, 9))
    columns["y"] = (told + rng.normal(0, 0.5, rows) > 1.5).astype(np.int64)
    return pa.table(columns)


def main() -> None:
    data = table(100_000, np.random.default_rng(0))
    measured: dict[str, dict[str, object]] = {}
    for measure in ("leave-one-out-information", None):
        runs: dict[int, dict[str, float]] = {}
        for count in (50, 1_000, 10_000):
            wall, cpu = time.perf_counter(), time.process_time()
            advice = aegis.advise(data, label="y", generate=count, seed=0, measure=measure)
            runs[count] = {
                "wall_seconds": round(time.perf_counter() - wall, 3),
                "cpu_seconds": round(time.process_time() - cpu, 3),
            }
            assert len(advice.ranking) == count
        further = (runs[10_000]["cpu_seconds"] - runs[50]["cpu_seconds"]) / (10_000 - 50)
        measured[advice.measure] = {
            "runs": runs,
            "cpu_milliseconds_per_further_configuration": round(1000 * further, 3),
        }
    payload = {
        "attributes": 25,
        "largest_domain": 1000,
        "by_measure": measured,
        "bar": {"cpu_milliseconds_per_further_configuration": 5.0, "wall_seconds_for_10000": 60.0},
    }
    print(payload)
    write("advisor_configurations", payload)


if __name__ == "__main__":
    main()
