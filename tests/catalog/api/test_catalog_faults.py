"""kill -9 in the middle: nothing acknowledged is lost, no release is half, the record is intact."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "catalog_faults.py"


def test_five_kills_lose_nothing() -> None:
    """The benchmark itself with five kills instead of fifty: server, worker, database, and two more at random."""
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "--dry", "--kills", "5", "--rows", "300", "--seed", "1"],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "'audit chain intact': True" in done.stdout
