"""CPU seconds of local recoding: 21,000 rows of Adult, and made-up tables of a million rows and eight columns.

From counts: choosing the way to grow, and growing, compiled before. The whole command reads Parquet, counts, cuts,
writes the table with its certificate, reads it back and judges it again.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import aegis
from _result import write
from aegis.candidates.boxes.choosing import growth_for
from aegis.candidates.boxes.growing import grow_boxes
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.privacy.policy import Policy
from boxes_tables import SOURCES, read

LABEL = Domain.of(Kind.INTEGER, [0, 1])


def made_up(rows: int, columns: int, values: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes that lean to small values, and a label that three of the columns decide together."""
    rng = np.random.default_rng(0)
    codes = np.minimum(rng.geometric(4.0 / values, (rows, columns)) - 1, values - 1)
    odds = (codes[:, 0] > values // 8) ^ (codes[:, 1] > values // 6)
    label = (rng.random(rows) < np.where(odds, 0.7, 0.2) + 0.1 * (codes[:, 2] > values // 5)).astype(np.int64)
    return codes.astype(np.int64), label


def seconds_of(table: ClassTable, k: int) -> dict[str, Any]:
    policy = Policy.from_mapping({"k": k})
    began = time.process_time()
    growth = growth_for(table, policy, "label")
    chosen = time.process_time()
    boxes = grow_boxes(table, policy, labels=["label"], growth=growth).boxes
    ended = time.process_time()
    return {
        "tuples": table.classes,
        "k": k,
        "boxes": boxes.many,
        "choosing_cpu_seconds": round(chosen - began, 2),
        "growing_cpu_seconds": round(ended - chosen, 2),
        "cpu_seconds": round(ended - began, 2),
    }


def whole(codes: np.ndarray, label: np.ndarray, k: int) -> dict[str, Any]:
    """The whole command on a file."""
    names = [f"c{at}" for at in range(codes.shape[1])]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        pq.write_table(pa.table({**dict(zip(names, codes.T, strict=True)), "label": label}), path)
        began = time.process_time()
        aegis.anonymize(path, method="boxes", k=k, quasi=names, label=["label"], out=Path(folder) / "released.parquet")
        return {"cpu_seconds": round(time.process_time() - began, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    chosen = parser.parse_args()
    adult = read(SOURCES["adult_arx"])
    rows = np.random.default_rng(0).permutation(len(adult.label))[:21_000]
    counts = adult.counts(rows)
    for k in (len(rows) // 2, 50):
        seconds_of(counts, k)  # compiled and loaded once, joining of parts included
    runs: list[dict[str, Any]] = [{"table": "adult_arx", "rows": len(rows), **seconds_of(counts, k)} for k in (5, 50)]
    print(runs, flush=True)
    for values in (10, 100):
        codes, label = made_up(chosen.rows, 8, values)
        table = ClassTable.from_codes(
            columns=tuple(f"c{at}" for at in range(8)),
            domains=[Domain.of(Kind.INTEGER, range(values))] * 8,
            codes=codes,
            counts=np.ones(len(codes), dtype=np.int64),
            contents={"label": (LABEL, label)},
            encoded=True,
        )
        runs.append({"table": f"8 columns of {values} values", "rows": chosen.rows, **seconds_of(table, 10)})
        print(runs[-1], flush=True)
        runs.append({"table": f"8 columns of {values} values, whole command", "rows": chosen.rows, "k": 10,
                     **whole(codes, label, 10)})  # fmt: skip
        print(runs[-1], flush=True)
    write("boxes_scale", {"runs": runs})


if __name__ == "__main__":
    main()
