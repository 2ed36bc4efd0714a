"""What does starting cost: ``import aegis``, ``aegis --help``, and the bare interpreter they stand on?

CPU seconds of whole processes (user and system), the least of several runs: other work on the machine can only add. The
first run of each is left out, since it compiles. Also counted: how many modules each has loaded.

Run: python benchmarks/start_up.py [--runs 15]
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys

from _result import write

GOALS_S = {"import aegis": 0.05, "aegis --help": 0.35}
ARGUMENTS = {
    "python": ["-c", "pass"],
    "import aegis": ["-c", "import aegis"],
    "aegis --help": ["-m", "aegis", "--help"],
    "aegis advise --help": ["-m", "aegis", "advise", "--help"],
}
COUNTED = {
    "python": "pass",
    "import aegis": "import aegis",
    "aegis --help": "from aegis.command_line import call; call(['--help'])",
    "aegis advise --help": "from aegis.command_line import call; call(['advise', '--help'])",
}


def cpu_seconds(arguments: list[str]) -> float:
    """User and system time of one process that has ended."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def modules(code: str) -> int:
    """How many modules a process has loaded after ``code``."""
    answer = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(len(sys.modules))"],
        check=True,
        capture_output=True,
        text=True,
    )
    return int(answer.stdout.splitlines()[-1])


def main() -> None:
    """Measure each in turn and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    times: dict[str, list[float]] = {name: [] for name in ARGUMENTS}
    for number in range(runs + 1):
        for name, arguments in ARGUMENTS.items():
            seconds = cpu_seconds(arguments)
            if number:  # the first compiles
                times[name].append(seconds)
    found = {
        name: {
            "cpu_s": round(min(taken), 3),
            "cpu_s_median": round(statistics.median(taken), 3),
            "modules": modules(COUNTED[name]),
            **({"goal_s": GOALS_S[name], "met": min(taken) <= GOALS_S[name]} if name in GOALS_S else {}),
        }
        for name, taken in times.items()
    }
    for name, figures in found.items():
        print(f"{name:22} {figures['cpu_s']:.3f} s CPU, {figures['modules']} modules")
    write("start_up", {"runs": runs, "load_average": round(os.getloadavg()[0], 1), "processes": found})


if __name__ == "__main__":
    main()
