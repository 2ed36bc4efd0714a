"""A paper's tables and figures, repeated and kept: ``python benchmarks/reproduce.py aegis`` (or mo-obam, minimax)."""

from __future__ import annotations

import argparse
import sys
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
        progress=say,
    )
    print({str(verdict): count for verdict, count in done.verdicts.items()})
    # Where the page and the parts lie is nobody's business but the machine's.
    sys.argv[1:] = [arguments.name, "--seed", str(arguments.seed)]
    write(f"reproduce_{arguments.name.replace('-', '_')}", done.to_json())


def say(done: int, total: int | None, what: str) -> None:
    print(f"{done}/{total} {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
