"""CPU of the race on Income, from the file to the ranking: whole processes, start-up included.

``aegis advise FILE --label income --generate N --json`` is started anew each time; user and system time of the process
count, on one thread of BLAS. What training every configuration costs is measured beside it, on the same machine: three
configurations with scikit-learn's three models on four splits, as `advisor_exhaustive.py` trains all fifty. The package
is compiled as one that is installed is. The first process compiles the loops if this machine has not yet, and is not
counted.
"""

from __future__ import annotations

import argparse
import compileall
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import aegis
from _result import dataset, write
from _selection_data import CASES, configurations, counted
from aegis.evaluation.coded_rows import read_rows
from aegis.evaluation.gold import gold_standard
from aegis.evaluation.splits import SplitPlan

FILE = "adult/adult_train_32561.csv"
BARS = {50: 2.5, 1_000: 10.0}
TIMES_LESS = 250
TRAINED = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    # As an installed package is: one under development is compiled at every start where bytecode is not kept.
    compileall.compile_dir(Path(aegis.__file__).parent, quiet=1)
    cpu_seconds("--generate", "2")
    started = [cpu_seconds("--generate", "2", "--fast") for _ in range(arguments.repeat)]
    trained = training_cpu_seconds()
    measured: dict[int, dict[str, Any]] = {}
    for count, bar in BARS.items():
        spent = [cpu_seconds("--generate", str(count)) for _ in range(arguments.repeat if count < 100 else 2)]
        training = trained * count
        measured[count] = {
            "cpu_seconds": spent,
            "median_cpu_seconds": round(statistics.median(spent), 2),
            "lowest_cpu_seconds": min(spent),
            "bar_cpu_seconds": bar,
            "training_all_cpu_seconds": round(training, 1),
            "times_less_than_training_all": round(training / statistics.median(spent)),
        }
    payload = {
        "data": FILE,
        "configurations": measured,
        "training_cpu_seconds_per_configuration": round(trained, 2),
        "configurations_trained": TRAINED,
        "two_configurations_from_counts_cpu_seconds": started,
        "bar_times_less": TIMES_LESS,
        "load_average": [round(load, 1) for load in os.getloadavg()],
        "seed": 0,
    }
    print(payload)
    write("race_speed", payload)


def training_cpu_seconds() -> float:
    """CPU seconds of training the models on one configuration, the mean of a few."""
    case = next(case for case in CASES if case.name == "income")
    opened, known = counted(case)
    some = configurations(known, count=50, strength="mixed", seed=0)[:TRAINED]
    gold = gold_standard(read_rows(opened, known), some, label=case.label, plan=SplitPlan())
    return gold.cpu_seconds / TRAINED


def cpu_seconds(*options: str) -> float:
    """User and system time of one process."""
    command = [sys.executable, "-m", "aegis", "advise", str(dataset(FILE)), "--label", "income", "--missing", "?"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([*command, *options, "--json"], check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2)


if __name__ == "__main__":
    main()
