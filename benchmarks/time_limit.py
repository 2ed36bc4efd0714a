"""A time limit is a time limit: ``aegis anonymize --seconds 20`` with nine quasi-identifiers of 119,000 rows.

The table is Adult's 32,561 rows, repeated with ages and hours moved by up to two, so that no row is a copy. Recorded:
wall and CPU seconds of the whole call (reading, search, writing), of which the search may take 20, how often progress
was told, and the longest time without a word.
"""

from __future__ import annotations

import json
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv

import aegis
from _result import dataset, write

ROWS, SECONDS = 119_000, 20.0
QUASI = (
    *("age", "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex"),
    "hours-per-week",
)


def bookings(folder: Path) -> Path:
    """A table of the size of a real one."""
    source = pyarrow.csv.read_csv(dataset("adult/adult_train_32561.csv"))
    rng = np.random.default_rng(0)
    table = source.take(np.arange(ROWS) % len(source))
    for name in ("age", "hours-per-week"):
        moved = table[name].to_numpy() + rng.integers(-2, 3, ROWS)
        table = table.set_column(table.column_names.index(name), name, [np.maximum(moved, 1)])
    path = folder / "large.csv"
    pyarrow.csv.write_csv(table, path)
    return path


def timed(data: Path, out: Path) -> dict[str, Any]:
    """One call with the limit, listened to."""
    heard: list[float] = []

    def progress(done: int, total: int | None, what: str) -> None:
        heard.append(time.perf_counter())

    before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    aegis.anonymize(
        data,
        method="mo-obam",
        quasi=QUASI,
        sensitive=("income",),
        k=5,
        seconds=SECONDS,
        out=out,
        missing=("?",),
        progress=progress,
    )
    ended, after = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    times = np.array([began, *heard, ended])
    return {
        "seconds_asked": SECONDS,
        "wall_seconds": round(ended - began, 1),
        "cpu_seconds": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
        "progress_calls": len(heard),
        "first_word_after_seconds": round(float(times[1] - times[0]), 1),
        "longest_silence_seconds": round(float(np.diff(times).max()), 1),
        "load_of_the_machine": round(os.getloadavg()[0], 1),
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = bookings(folder)
        found = timed(data, folder / "out.csv")
    print(json.dumps(found))
    write("time_limit", {"rows": ROWS, "quasi_identifiers": len(QUASI), "call": found})


if __name__ == "__main__":
    main()
