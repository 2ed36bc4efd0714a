"""Where a benchmark leaves what it measured: one JSON file with the machine, the versions and the command."""

from __future__ import annotations

import datetime
import json
import os
import platform
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
DATASETS = Path(os.environ.get("AEGIS_DATASETS", Path(__file__).parent.parent.parent / "shared" / "datasets"))
os.environ.setdefault("AEGIS_STATE", tempfile.mkdtemp(prefix="aegis-benchmark-"))
"""Tables that a benchmark releases and throws away are no business of the user's register."""
_PACKAGES = ("aegis-share", "numpy", "scipy", "duckdb", "ibis-framework", "scikit-learn", "jax", "numba", "pyarrow")


def dataset(relative: str) -> Path:
    """A file of the public benchmark data, or an exit that says where it was looked for."""
    path = DATASETS / relative
    if not path.exists():
        sys.exit(f"{relative} is not in the data folder; set AEGIS_DATASETS to where the benchmark data is")
    return path


def write(name: str, payload: dict[str, Any]) -> Path:
    """Write ``results/<name>.json`` and say so."""
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    record = {
        "benchmark": name,
        "command": "python benchmarks/" + Path(sys.argv[0]).name + "".join(f" {a}" for a in sys.argv[1:]),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": {"processor": _processor(), "cores": os.cpu_count(), "system": platform.system()},
        "python": platform.python_version(),
        "versions": versions,
        **payload,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(record, indent=1, sort_keys=False) + "\n", encoding="utf-8")
    print(f"wrote benchmarks/results/{path.name}")
    return path


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
