"""kill -9 in the middle: nothing acknowledged is lost, no release is half, the record is intact."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "catalog_faults.py"
FEW = ["--kills", "3", "--flows", "1", "--pause-s", "1", "--rows", "300", "--seed", "1"]
CALM = ["--processes", "1", "--rest-s", "0.3"]


def test_a_kill_of_each_part_loses_nothing() -> None:
    """The benchmark itself with three kills instead of fifty, of a server, a worker and the database, and one flow."""
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "--dry", *FEW, *CALM],
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "'audit chain intact': True" in done.stdout
