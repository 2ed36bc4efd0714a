"""Rows by the hundred million on two cores: time, CPU and memory of a whole ranking, with a cap on memory.

The table is written in pieces by processes of their own and read where it lies; set AEGIS_SCRATCH to a folder with
room (about 1.2 GB per hundred million rows). ``--narrow`` keeps to ten columns of small whole numbers, otherwise there
are texts, dates and decimals among them. The folder is emptied afterwards.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _result import RESULTS, write

PIECE = 25_000_000
CONFIGURATIONS = 50
CAP_MIB = 1024
MEASURES = {"single-attributes": "leave-one-out-information", "default": None}

NARROW = """
    (h & 1)::UTINYINT AS sex, ((h >> 1) % 12)::UTINYINT AS month, ((h >> 8) % 60)::UTINYINT AS minute,
    ((h >> 16) % 100)::UTINYINT AS age, ((h >> 24) % 500)::USMALLINT AS shop, ((h >> 34) % 1000)::USMALLINT AS item,
    (g % 7)::UTINYINT AS day, ((g >> 8) % 24)::UTINYINT AS hour, ((g >> 16) % 31)::UTINYINT AS kind,
    ((g >> 24) % 365)::USMALLINT AS since
"""
MIXED = """
    (h & 1)::UTINYINT AS sex, ((h >> 1) % 12)::UTINYINT AS month, ((h >> 16) % 100)::UTINYINT AS age,
    ((h >> 24) % 500)::USMALLINT AS shop, ((h >> 34) % 1000)::USMALLINT AS item, (g % 7)::UTINYINT AS day,
    'town ' || ((g >> 8) % 50) AS town, lpad(((g >> 16) % 5000)::VARCHAR, 5, '0') AS zip,
    DATE '2015-01-01' + ((g >> 24) % 3650)::INTEGER AS born, round(((g >> 36) % 1000003) / 1003.0, 3) AS amount
"""
LABEL = "((h % 5 + g % 7 + (g >> 50) % 6) > 7)::UTINYINT AS bought"

MAKE = """
import duckdb
con = duckdb.connect(config={{"threads": 2, "memory_limit": "900MB"}})
con.execute("SET enable_progress_bar = false")
con.execute('''COPY (SELECT {columns}, {label} FROM (SELECT hash(r) AS h, hash(r + 77777777777) AS g
    FROM range({first}, {last}) t(r))) TO '{file}' (FORMAT parquet)''')
"""

RANK = """
import json, resource, aegis
resource.setrlimit(resource.RLIMIT_DATA, ({cap} << 20, {cap} << 20))
advice = aegis.advise({folder!r}, engine="duckdb://?memory_limit={engine}MB&threads=2", label="bought",
                      generate={configurations}, seed=0, measure={measure!r})
assert advice.rows == {rows} and len(advice.ranking) == {configurations}
print(json.dumps({{"attributes": {attributes}, **advice.timing}}))
"""


def run(code: str) -> dict[str, float]:
    """Wall and CPU seconds and peak memory of a Python process that runs ``code``."""
    started = time.perf_counter()
    child = os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, "-c", code])
    _, status, usage = os.wait4(child, 0)
    if status:
        sys.exit("a benchmark process failed")
    return {
        "wall_seconds": round(time.perf_counter() - started, 1),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_memory_mib": round(usage.ru_maxrss / 1024),
    }


def measured(rows: int, *, narrow: bool, scratch: Path, measures: list[str]) -> dict[str, Any]:
    """Make the table, rank configurations for it, and say what that took."""
    folder = Path(tempfile.mkdtemp(prefix="aegis-rows-", dir=scratch))
    try:
        making = 0.0
        for number, first in enumerate(range(0, rows, PIECE)):
            file = folder / f"part-{number:04d}.parquet"
            last = min(first + PIECE, rows)
            columns = NARROW if narrow else MIXED
            making += run(MAKE.format(columns=columns, label=LABEL, first=first, last=last, file=file))["cpu_seconds"]
            print(f"{last:,} rows written", flush=True)
        size = sum(file.stat().st_size for file in folder.glob("*.parquet"))
        ranked = {}
        for name in measures:
            measure = MEASURES[name]
            code = RANK.format(
                folder=str(folder), rows=rows, configurations=CONFIGURATIONS, measure=measure,
                cap=CAP_MIB, engine=CAP_MIB // 2, attributes=10,
            )  # fmt: skip
            ranked[name] = run(code)
            print(name, ranked[name], flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {
        "rows": rows,
        "attributes": 10,
        "columns": "whole numbers of up to 1,000 values" if narrow else "whole numbers, texts, dates and decimals",
        "configurations": CONFIGURATIONS,
        "parquet_gib": round(size / 2**30, 2),
        "making_cpu_seconds": round(making, 1),
        "memory_cap_mib": CAP_MIB,
        "ranked": ranked,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--narrow", action="store_true")
    parser.add_argument("--measures", nargs="+", choices=MEASURES, default=list(MEASURES))
    arguments = parser.parse_args()
    scratch = Path(os.environ.get("AEGIS_SCRATCH", tempfile.gettempdir()))
    found = measured(arguments.rows, narrow=arguments.narrow, scratch=scratch, measures=arguments.measures)
    found["note"] = (
        "whole processes; RLIMIT_DATA held the process below the cap, and DuckDB was given half of it; the machine "
        "was shared, so CPU seconds say more than wall time"
    )
    print(found)
    RESULTS.mkdir(exist_ok=True)
    write(f"scale_rows_{arguments.rows // 1_000_000}m", found)


if __name__ == "__main__":
    main()
