"""10 million rows × 25 attributes × 50 configurations: CPU against the bare GROUP BYs of the same tables, and memory.

Both sides run in processes of their own, one after the other, three times; the rival is DuckDB asked for the same 25
contingency tables with nothing around it.
"""

from __future__ import annotations

import argparse
import compileall
import os
import statistics
import sys
import tempfile
from pathlib import Path

import duckdb

import aegis
from _result import write

ATTRIBUTES, CONFIGURATIONS, VALUES = 25, 50, 1000
BY = {
    "race": "",
    "pairs": ", fast=True",
    "single_attributes": ', measure="leave-one-out-information"',
}
"""How the configurations are ranked: by models on a sample (the default), or from counts alone."""

BARE = """
import duckdb, sys
con = duckdb.connect()
for i in range({attributes}):
    con.execute(f"SELECT a{{i:02d}}, y, count(*) FROM read_parquet('{file}') GROUP BY ALL").to_arrow_table()
"""

OURS = """
import aegis
advice = aegis.advise({file!r}, label="y", generate={configurations}, seed=0{by})
assert len(advice.ranking) == {configurations} and advice.rows == {rows}
"""


def make(path: Path, rows: int) -> None:
    """Columns with 2 to 1,000 values, some of them telling about a binary label."""
    columns = []
    for i in range(ATTRIBUTES):
        size = max(2, VALUES // (1 + (i % 5) ** 2 * 8))
        columns.append(f"CAST(hash(r * 31 + {i}) % {size} AS INTEGER) AS a{i:02d}")
    told = " + ".join(f"(hash(r * 31 + {i}) % 7)" for i in (0, 3, 7))
    duckdb.execute(
        f"COPY (SELECT {', '.join(columns)}, CAST(({told} + hash(r) % 9) > 13 AS INTEGER) AS y "
        f"FROM range({rows}) t(r)) TO '{path}' (FORMAT parquet)"
    )


def run(code: str) -> tuple[float, float]:
    """CPU seconds and peak memory in GiB of a Python process that runs ``code``."""
    child = os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, "-c", code])
    _, status, usage = os.wait4(child, 0)
    if status:
        sys.exit("a benchmark process failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    # As an installed package is: one under development is compiled at every start where bytecode is not kept.
    compileall.compile_dir(Path(aegis.__file__).parent, quiet=1)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.parquet"
        make(file, arguments.rows)
        bare_code = BARE.format(attributes=ATTRIBUTES, file=file)
        codes = {
            name: OURS.format(file=str(file), configurations=CONFIGURATIONS, rows=arguments.rows, by=by)
            for name, by in BY.items()
        }
        bare = []
        ours: dict[str, list[tuple[float, float]]] = {name: [] for name in codes}
        for _ in range(arguments.repeat):
            bare.append(run(bare_code))
            for name, code in codes.items():
                ours[name].append(run(code))
        megabytes = file.stat().st_size / 2**20
    payload = {
        "rows": arguments.rows,
        "attributes": ATTRIBUTES,
        "configurations": CONFIGURATIONS,
        "parquet_mib": round(megabytes),
        "bare_group_by_cpu_seconds": [round(b[0], 2) for b in bare],
        "by_measure": {
            name: {
                "aegis_cpu_seconds": [round(o[0], 2) for o in runs],
                "ratio_of_cpu_median": round(
                    statistics.median(o[0] / b[0] for o, b in zip(runs, bare, strict=True)), 3
                ),
                "peak_memory_gib": round(max(o[1] for o in runs), 3),
            }
            for name, runs in ours.items()
        },
        "note": "whole processes, interpreter start and imports of compiled modules included on both sides",
        "bar": {"ratio_of_cpu": 2.2, "peak_memory_gib": 1.0},
    }
    print(payload)
    write("advisor_scale", payload)


if __name__ == "__main__":
    main()
