"""Made-up rows of up to a hundred million records: how much of the CPU counts them, on DuckDB and on Spark.

Four attributes and a label in one Parquet file that is made for it and deleted, ε = 1, values and ranges found under
the budget. Each run is a process of its own; the engine's threads, and Spark's Java, count as CPU. What is left after
counting (noise, choosing, fitting, drawing a hundred thousand rows) works on counts and should not grow with the rows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb

from _result import write

MAKE = """
copy (
  select ['f', 'm'][1 + (h % 2)::int] as sex, 'region ' || ((h >> 8) % 12) as region, 'job ' || ((h >> 16) % 20) as job,
         (18 + ((h >> 24) % 70))::smallint as age,
         case when ((h >> 40) % 100) < 10 + ((h >> 24) % 70) - 8 * (h % 2) then 'yes' else 'no' end as sick
  from (select hash(range) as h from range({rows}))
) to '{file}' (format parquet)
"""

RUN = """
import json, sys, time, psutil, aegis
from aegis.counts import marginals
own = psutil.Process()
def spent():
    java = sum(t.user + t.system for p in own.children(recursive=True) for t in [p.cpu_times()])
    return java + time.process_time()
counting = {{"cpu": 0.0, "wall": 0.0, "questions": 0, "inside": 0}}
def timed(call):
    def run(*args, **options):
        if counting["inside"]:
            return call(*args, **options)
        counting["inside"] = 1
        before, began = spent(), time.perf_counter()
        try:
            return call(*args, **options)
        finally:
            counting["inside"] = 0
            counting["cpu"] += spent() - before
            counting["wall"] += time.perf_counter() - began
            counting["questions"] += 1
    return run
for kind in (marginals.TableCounter, marginals._HeldCodes):
    for name in ("count", "frequent", "prepared"):
        setattr(kind, name, timed(getattr(kind, name)))
options = dict(label="sick", epsilon=1.0, rows=100_000, **({{"engine": {engine!r}}} if {engine!r} else {{}}))
aegis.synthesize({warm!r}, **options)  # imports, and what Spark compiles
counting.update(cpu=0.0, wall=0.0, questions=0)
before, began = spent(), time.perf_counter()
made = aegis.synthesize({file!r}, **options)
cpu, wall = spent() - before, time.perf_counter() - began
print(json.dumps({{"cpu_seconds": cpu, "wall_seconds": wall, "counting_cpu_seconds": counting["cpu"],
    "counting_wall_seconds": counting["wall"], "questions": counting["questions"], "records_said": made.records}}))
"""


def measured(file: Path, warm: Path, rows: int, engine: str | None, limit: float) -> dict[str, Any]:
    code = RUN.format(file=str(file), warm=str(warm), engine=engine)
    try:
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"rows": rows, "ended": f"not done within {limit:g} seconds"}
    figures = json.loads(done.stdout.splitlines()[-1])
    rounded = {name: round(value, 2) for name, value in figures.items()}
    other = figures["cpu_seconds"] - figures["counting_cpu_seconds"]
    share = figures["counting_cpu_seconds"] / figures["cpu_seconds"]
    return {"rows": rows, **rounded, "other_cpu_seconds": round(other, 2), "counting_share": round(share, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--duckdb", type=int, nargs="*", default=[1_000_000, 10_000_000, 100_000_000])
    parser.add_argument("--spark", type=int, nargs="*", default=[1_000_000, 10_000_000, 100_000_000])
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for one run")
    chosen = parser.parse_args()
    engines = {"duckdb": (None, chosen.duckdb), "spark": ("spark-local://2", chosen.spark)}
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=os.environ.get("AEGIS_SCRATCH")) as place:
        files = {rows: Path(place) / f"rows-{rows}.parquet" for rows in {100_000, *chosen.duckdb, *chosen.spark}}
        for rows, file in files.items():
            duckdb.sql(MAKE.format(rows=rows, file=file))
        sizes = {rows: file.stat().st_size for rows, file in sorted(files.items())}
        for name, (engine, numbers) in engines.items():
            results[name] = []
            for rows in numbers:
                results[name].append(measured(files[rows], files[100_000], rows, engine, chosen.limit))
                print(name, results[name][-1], flush=True)
    facts = {"attributes": 4, "epsilon": 1.0, "file_bytes": sizes, "limit_seconds": chosen.limit}
    write("synthesis_scale", {**facts, **results})


if __name__ == "__main__":
    main()
