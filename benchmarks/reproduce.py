"""A paper's tables and figures, repeated and kept: ``python benchmarks/reproduce.py aegis`` (or mo-obam, minimax)."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from _result import DATASETS, write
from aegis_papers.chapters import CHAPTERS, reproduce


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", choices=list(CHAPTERS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=Path, help="folder that keeps finished parts")
    parser.add_argument("--report", type=Path, help="also write the page here")
    arguments = parser.parse_args()
    done = reproduce(
        arguments.name,
        datasets=DATASETS,
        seed=arguments.seed,
        work=arguments.work,
        report=arguments.report,
        overwrite=True,
        progress=ProgressLines(),
    )
    print({str(verdict): count for verdict, count in done.verdicts.items()} | {"better": done.better})
    # Where the page and the parts lie is nobody's business but the machine's.
    sys.argv[1:] = [arguments.name, "--seed", str(arguments.seed)]
    write(f"reproduce_{arguments.name.replace('-', '_')}", done.to_json())


class ProgressLines:
    """Says what is being done and, once some steps of a stage are finished, how long its rest takes."""

    def __init__(self) -> None:
        self.stage: int | None = None
        self.first = 0
        self.since = time.monotonic()

    def __call__(self, done: int, total: int | None, what: str) -> None:
        if total is None:
            print(what, file=sys.stderr, flush=True)
            return
        if total != self.stage or done < self.first:
            self.stage, self.first, self.since = total, done, time.monotonic()
        steps = done - self.first
        left = (
            f", about {rest(steps, total - done, time.monotonic() - self.since)} left" if steps and total > done else ""
        )
        print(f"{done}/{total} {what}{left}", file=sys.stderr, flush=True)


def rest(done: int, left: int, seconds: float) -> str:
    """How long the rest of a stage takes if it goes on as it went.

    >>> rest(2, 6, 60.0), rest(10, 5, 20.0)
    ('3 minutes', '10 seconds')
    """
    expected = seconds / done * left
    return f"{expected / 60:.0f} minutes" if expected >= 90 else f"{expected:.0f} seconds"


if __name__ == "__main__":
    main()
