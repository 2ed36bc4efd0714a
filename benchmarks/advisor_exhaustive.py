"""The advisor against the exhaustive way on Income: CPU to rank 50 configurations, both in one run.

The exhaustive way masks the rows and trains logistic regression, a random forest and boosted trees on 4 splits of every
configuration, one thread each. Its results are kept in a file as they come, with the CPU seconds each took, so the
benchmark may be interrupted. The advisor runs in fresh processes; importing it is not counted on either side.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from typing import Any

import numpy as np

from _result import dataset, write
from _selection_data import CACHE, CASES, configurations, counted
from aegis.evaluation.coded_rows import read_rows
from aegis.evaluation.evaluated import agreement
from aegis.evaluation.gold import gold_standard
from aegis.evaluation.long_work import ResultCache
from aegis.evaluation.splits import SplitPlan
from aegis.result import plain

ADVISE = """
import json, time
import aegis
import pyarrow
tiny = pyarrow.table({{"a": [1, 2, 3, 4], "b": ["u", "v", "u", "v"], "y": [0, 1, 0, 1]}})
aegis.advise(tiny, label="y", generate=2)  # loads what is loaded late: start-up is not counted on either side
started = time.process_time()
advice = aegis.advise({file!r}, label={label!r}, generate={count}, seed=0, missing={missing!r})
spent = time.process_time() - started
scores = {{one.configuration: -one.rank for one in advice.ranking}}
ids = {{one.configuration: one.id for one in advice.ranking}}
print(json.dumps({{"cpu_seconds": spent, "measure": advice.measure, "scores": scores, "ids": ids}}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--configurations", type=int, default=50)
    parser.add_argument("--sample", type=int, default=50, help="how many of them to try the exhaustive way")
    parser.add_argument("--fresh", action="store_true", help="do not take trained results from earlier runs")
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    case = next(case for case in CASES if case.name == "income")
    ours = [advise(case.file, case.label, case.missing, arguments.configurations) for _ in range(arguments.repeat)]
    opened, known = counted(case)
    every = configurations(known, count=arguments.configurations, strength="mixed", seed=0)
    assert ours[0]["ids"] == {one.name: one.id for one in every}, "both ways must rank the same configurations"
    tried = [
        every[i] for i in sorted(np.random.default_rng(0).choice(len(every), size=arguments.sample, replace=False))
    ]
    # A fresh measurement trains every sampled configuration in this run, on the machine as it is now.
    with ResultCache(None if arguments.fresh else CACHE) as cache:
        gold = gold_standard(
            read_rows(opened, known), tried, label=case.label, plan=SplitPlan(), cache=cache, progress=say
        )
    exhaustive = gold.cpu_seconds * len(every) / len(tried)
    cpu = statistics.median(one["cpu_seconds"] for one in ours)
    scores = [ours[0]["scores"][configuration.name] for configuration in tried]
    payload = {
        "data": case.file,
        "rows": known.rows,
        "attributes": len(known.joints),
        "configurations": len(every),
        "configurations_tried": len(tried),
        "extrapolated": len(tried) < len(every),
        "models": list(gold.models),
        "splits": gold.splits,
        "training_rows": gold.training_rows,
        "exhaustive_cpu_seconds": round(exhaustive, 1),
        "exhaustive_cpu_seconds_per_configuration": round(gold.cpu_seconds / len(tried), 2),
        "advise_cpu_seconds": [round(one["cpu_seconds"], 3) for one in ours],
        "advise_measure": ours[0]["measure"],
        "ratio": round(exhaustive / cpu),
        "bar": {"ratio": 1000},
        "agreement": plain(agreement(ours[0]["measure"], scores, gold.accuracies, cpu_seconds=cpu)),
        "seed": 0,
    }
    print(payload)
    write("advisor_exhaustive", payload)


def advise(file: str, label: str, missing: tuple[str, ...], count: int) -> dict[str, Any]:
    """Rank in a fresh process; CPU seconds after the imports."""
    code = ADVISE.format(file=str(dataset(file)), label=label, count=count, missing=list(missing))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"aegis.advise failed: {done.stderr.strip().splitlines()[-1:]}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def say(done: int, total: int | None, name: str) -> None:
    print(f"{done}/{total} {name}", flush=True)


if __name__ == "__main__":
    main()
