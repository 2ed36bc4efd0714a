"""Spark on two threads of this machine: what counting costs it per row, and what a billion rows would cost a cluster.

The cluster is on paper: counting is one aggregation per attribute in which every worker sums its own rows first, so the
work is divided among the cores and what is exchanged are a few thousand counts. The CPU is that of Java.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from _result import write
from scale_linear import slope
from scale_rows import LABEL, MAKE, NARROW, run

ROWS = (2_000_000, 5_000_000, 10_000_000, 20_000_000)

COUNT = """
import json, time, psutil, aegis
def spent():
    return sum(t.user + t.system for p in psutil.Process().children(recursive=True) for t in [p.cpu_times()])
engine = "spark-local://2"
aegis.inspect({warm!r}, engine=engine)  # Spark compiles what it needs
before, started = spent(), time.perf_counter()
summary = aegis.summarize({file!r}, engine=engine, label="bought", generate=50, seed=0, race=False)
assert summary.rows == {rows}
print(json.dumps([spent() - before, time.perf_counter() - started]))
"""


def main() -> None:
    cpu, wall = [], []
    with tempfile.TemporaryDirectory(dir=os.environ.get("AEGIS_SCRATCH")) as place:
        files = []
        for rows in ROWS:
            files.append(f"{place}/rows-{rows}.parquet")
            run(MAKE.format(columns=NARROW, label=LABEL, first=0, last=rows, file=files[-1]))
        for rows, file in zip(ROWS, files, strict=True):
            code = COUNT.format(warm=files[0], file=file, rows=rows)
            answer = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
            spent, lasted = json.loads(answer.stdout.splitlines()[-1])
            cpu.append(round(spent, 1))
            wall.append(round(lasted, 1))
            print(rows, cpu[-1], wall[-1], flush=True)
    line = slope([rows / 1e6 for rows in ROWS], cpu)
    core_seconds = line["seconds_per_unit"] * 1000
    payload: dict[str, Any] = {
        "attributes": 10,
        "configurations": 50,
        "rows": ROWS,
        "cpu_seconds": cpu,
        "wall_seconds": wall,
        "line_in_million_rows": line,
        "billion_rows_on_paper": {
            "core_seconds": round(core_seconds),
            "minutes_on_64_cores": round(core_seconds / 64 / 60, 2),
            "core_hours": round(core_seconds / 3600, 2),
            "dollars_at_5_cents_a_core_hour": round(core_seconds / 3600 * 0.05, 3),
            "assumes": "cores as fast as these and all of them busy, Parquet as near as this machine's disk",
        },
        "note": "CPU of the Java process while it counted, start and compilation of the first questions left out",
    }
    print(payload)
    write("scale_spark", payload)


if __name__ == "__main__":
    main()
