"""What a release of 10M rows costs beside DuckDB running the same masked, shuffled query and one GROUP BY.

The source is a made Parquet file of clinic-like columns. DuckDB alone masks the same columns by the same rules, sorts
by random numbers, writes Parquet, and groups the written file by the quasi-identifiers and the sensitive column. Aegis
does what `aegis release` does: judge, write, measure again, hash, certify, compare utility. Each runs in a process of
its own; CPU seconds of those processes, engine threads included, taking turns for several rounds.

``--rows N`` changes the size.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

SEED, ROUNDS = 11, 3

MAKE = """
import sys, duckdb
rows, out = int(sys.argv[1]), sys.argv[2]
duckdb.execute("select setseed(0.11)")
duckdb.execute(f'''
COPY (
  SELECT
    'P' || i AS patient,
    18 + floor(72 * random() * random())::BIGINT AS age,
    40 + round(80 * random(), 1) AS weight,
    lpad((floor(10 * random())::INT * 1000 + floor(40 * random() * random())::INT)::VARCHAR, 5, '0') AS zip,
    CASE WHEN random() < 0.5 THEN 'f' ELSE 'm' END AS gender,
    ['none', 'asthma', 'diabetes', 'arthritis', 'heart disease'][1 + floor(5 * random())::INT] AS diagnosis,
    floor(9 * random() * random())::BIGINT AS visits,
    CASE WHEN random() < 0.3 THEN 'poor' ELSE 'good' END AS health
  FROM range({rows}) r(i)
) TO '{out}' (FORMAT parquet)
''')
"""

ENGINE = """
import sys, duckdb
source, out = sys.argv[1], sys.argv[2]
duckdb.execute("SET enable_progress_bar = false")
duckdb.execute(f'''
COPY (
  SELECT '*' AS patient,
    '[' || (age // 20 * 20) || ', ' || (age // 20 * 20 + 20) || ')' AS age,
    '[' || (floor(weight / 40) * 40)::BIGINT || ', ' || (floor(weight / 40) * 40 + 40)::BIGINT || ')' AS weight,
    left(zip, 2) || '***' AS zip,
    gender, diagnosis, visits, health
  FROM '{source}' ORDER BY random()
) TO '{out}' (FORMAT parquet)
''')
print(len(duckdb.execute(f'''
SELECT age, weight, zip, gender, diagnosis, health, count(*)
FROM '{out}' GROUP BY ALL
''').fetchall()))
"""

AEGIS = """
import sys
import aegis
from aegis.privacy.policy import Policy
policy = Policy.from_mapping({
    "identifying": ["patient"], "quasi_identifying": ["age", "weight", "zip", "gender"], "label": "health",
    "insensitive": ["visits"],
    "k": 5, "l": {"diagnosis": 2}, "max_suppression": 0.01,
})
masks = {
    "age": {"bucketize": {"width": 20}},
    "weight": {"bucketize": {"width": 40}},
    "zip": {"star_trailing": {"characters": 3}},
}
done = aegis.release(sys.argv[1], config=masks, policy=policy, out=sys.argv[2], ledger="none")
print(done.classes)
"""


def cpu(script: str, *arguments: str) -> tuple[float, str]:
    """CPU seconds of a script in a process of its own, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = subprocess.run([sys.executable, "-c", script, *arguments], check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, answer.stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    rows = parser.parse_args().rows
    rounds: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source.parquet"
        cpu(MAKE, str(rows), str(source))
        for number in range(ROUNDS):
            engine, groups = cpu(ENGINE, str(source), str(Path(folder) / "engine.parquet"))
            out = Path(folder) / f"aegis{number}.parquet"
            ours, classes = cpu(AEGIS, str(source), str(out))
            rounds.append(
                {
                    "engine_cpu_s": round(engine, 2),
                    "release_cpu_s": round(ours, 2),
                    "ratio": round(ours / engine, 3),
                    "groups": int(groups),
                    "classes": int(classes),
                }
            )
            print(rounds[-1])
            out.unlink()
    import_module("_result").write(
        "release_scale",
        {
            "seed": SEED,
            "rows": rows,
            "columns": 8,
            "release_over_engine": statistics.median(each["ratio"] for each in rounds),
            "rounds": rounds,
        },
    )


if __name__ == "__main__":
    main()
