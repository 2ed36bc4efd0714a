"""Cost against rows and against configurations: linear in the one, nearly flat in the other; and what a part costs.

Processes of their own, CPU seconds, the least of some runs: a shared machine makes single runs slower, never faster.
Ten columns of small whole numbers. The plots are made by the charts of the reports.
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

import numpy as np

from _result import RESULTS, write
from aegis.report.charts.curves import Curve, curves
from scale_rows import LABEL, MAKE, NARROW, run

ROWS = (1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000)
CONFIGURATIONS = (10, 100, 1_000, 5_000)
STYLE = Path(__file__).parent.parent / "src/aegis/report/templates/style.css"

RANK = """
import json, time, aegis
started = time.process_time()
aegis.advise({file!r}, label="bought", generate=2, seed=0, measure={measure!r})  # what is imported late
started = time.process_time()
advice = aegis.advise({file!r}, label="bought", generate={configurations}, seed=0, measure={measure!r})
assert len(advice.ranking) == {configurations}
print(json.dumps(time.process_time() - started))
"""
APPEND = """
import json, time, aegis
aegis.summarize({warm!r}, label="bought", generate=50, seed=0, race=False, out={folder!r}, overwrite=True)
started = time.process_time()
aegis.summarize({file!r}, append={folder!r})
print(json.dumps(time.process_time() - started))
"""
MEASURES = {"one attribute at a time": "leave-one-out-information", "pairs of attributes (default)": None}


def least(code: str, repeat: int) -> float:
    """The least CPU seconds that a process reports."""
    found = []
    for _ in range(repeat):
        answer = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        found.append(float(json.loads(answer.stdout)))
    return round(min(found), 3)


def picture(name: str, markup: str) -> None:
    """A chart as a file of its own, with the style sheet of the reports in it."""
    head, _, rest = markup.partition("<title>")
    style = STYLE.read_text(encoding="utf-8")
    alone = head.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    (RESULTS / f"{name}.svg").write_text(f"{alone}<style>{style}</style><title>{rest}\n", encoding="utf-8")


def slope(x: list[float], y: list[float]) -> dict[str, float]:
    """A straight line through the points, and how much of them it explains."""
    b, a = np.polyfit(x, y, 1)
    left = float(np.sum((np.array(y) - (a + b * np.array(x))) ** 2))
    return {
        "seconds_at_zero": round(float(a), 3),
        "seconds_per_unit": float(f"{b:.4g}"),
        "r_squared": round(1 - left / float(np.var(y) * len(y)), 5),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--most-rows", type=int, default=ROWS[-1])
    arguments = parser.parse_args()
    sizes = [rows for rows in ROWS if rows <= arguments.most_rows]
    by_rows: dict[str, list[float]] = {name: [] for name in MEASURES}
    by_configurations: dict[str, list[float]] = {name: [] for name in MEASURES}
    with tempfile.TemporaryDirectory(dir=os.environ.get("AEGIS_SCRATCH")) as place:
        files = {}
        for rows in sizes:
            files[rows] = f"{place}/rows-{rows}.parquet"
            run(MAKE.format(columns=NARROW, label=LABEL, first=0, last=rows, file=files[rows]))
        for rows in sizes:
            for name, measure in MEASURES.items():
                code = RANK.format(file=files[rows], configurations=50, measure=measure)
                by_rows[name].append(least(code, arguments.repeat))
            print(rows, {name: values[-1] for name, values in by_rows.items()}, flush=True)
        for configurations in CONFIGURATIONS:
            for name, measure in MEASURES.items():
                code = RANK.format(file=files[sizes[0]], configurations=configurations, measure=measure)
                by_configurations[name].append(least(code, arguments.repeat))
            print(configurations, {name: values[-1] for name, values in by_configurations.items()}, flush=True)
        part = f"{place}/part.parquet"
        run(MAKE.format(columns=NARROW, label=LABEL, first=sizes[-1], last=sizes[-1] + 1_000_000, file=part))
        folder = f"{place}/counts"
        appended = least(APPEND.format(warm=files[sizes[-1]], folder=folder, file=part), arguments.repeat)
    millions = [rows / 1e6 for rows in sizes]
    payload: dict[str, Any] = {
        "attributes": 10,
        "cpu_seconds_by_rows": {"rows": sizes, "configurations": 50, **by_rows},
        "line_in_million_rows": {name: slope(millions, values) for name, values in by_rows.items()},
        "cpu_seconds_by_configurations": {
            "configurations": CONFIGURATIONS, "rows": sizes[0], **by_configurations,
        },
        "line_in_configurations": {
            name: slope([float(n) for n in CONFIGURATIONS], values) for name, values in by_configurations.items()
        },
        "append": {"rows_there": sizes[-1], "rows_added": 1_000_000, "cpu_seconds": appended},
        "note": f"the least of {arguments.repeat} runs; interpreter and imports are not counted",
    }  # fmt: skip
    picture(
        "scale_linear_rows",
        curves(
            [Curve(name=name, x=tuple(millions), y=tuple(values), dots=True) for name, values in by_rows.items()],
            title="Cost against rows",
            x_axis="million rows (10 attributes, 50 configurations)",
            y_axis="CPU seconds",
        ),
    )
    picture(
        "scale_linear_configurations",
        curves(
            [
                Curve(name=name, x=tuple(map(float, CONFIGURATIONS)), y=tuple(values), dots=True)
                for name, values in by_configurations.items()
            ],
            title="Cost against configurations",
            x_axis=f"configurations ({sizes[0] / 1e6:g} million rows, 10 attributes)",
            y_axis="CPU seconds",
        ),
    )
    print(payload)
    write("scale_linear", payload)


if __name__ == "__main__":
    main()
