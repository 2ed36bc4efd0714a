"""120,000 records × 6 quasi-identifiers, 30 binary secrets, 3,240 classes: time, and l = 2 kept or refused.

Two minutes, by the clock: on a machine with nothing else to do.
"""

from __future__ import annotations

import time

from _result import write
from aegis.candidates.clusters.mo_obam import MOOBAM
from aegis.errors import AnonymizerError
from microaggregation_data import row, synthetic


def main() -> None:
    """One feasible table, and one whose rarest secret is too rare for so many classes."""
    records = synthetic(rarest=0.05)
    MOOBAM(k=5, l=2, classes=50, rounds=20).fit(synthetic(rarest=0.2, rows=8_000))  # compile outside the clock
    began = time.perf_counter()
    fitted = MOOBAM(k=5, l=2, classes=3240, seconds=45, bound_share=0.1).fit(records)
    wall = time.perf_counter() - began
    try:
        MOOBAM(k=5, l=2, classes=3240, seconds=5).fit(synthetic(rarest=0.01))
        refusal = "none"
    except AnonymizerError as error:
        refusal = str(error)
    write(
        "microaggregation_large",
        {"seed": 0, "feasible": row(fitted, records) | {"wall_seconds": round(wall, 1)}, "infeasible": refusal},
    )


if __name__ == "__main__":
    main()
