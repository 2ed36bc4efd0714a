"""The entropy stage of MO-OBAM against random restarts: the objective of equation 18 after the same number of tries.

Both begin where the search for the least loss ended. The stage anneals in cycles; the rival goes straight downhill from
random partitions and on from the best so far by turns, as long a way each time.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from _result import write
from aegis.candidates.clusters import entropy_stage
from aegis.candidates.clusters.budget import Budget
from aegis.candidates.clusters.entropy_stage import anneal
from aegis.candidates.clusters.mixing import Goal
from aegis.candidates.clusters.mo_obam import MOOBAM
from aegis.candidates.clusters.records import Records, collapse
from aegis.candidates.clusters.risk import (
    class_entropies_bits,
    entropy_ceiling_bits,
    scaled_objective,
    sum_of_minima_bits,
)
from aegis.candidates.clusters.units import place, total_loss, units_of
from microaggregation_data import adult, german


def objective(records: Records, classes: int | None, trade_off: float, tries: int, *, heat: tuple[float, ...]) -> float:
    """What the stage reaches with so many tries; without heat every cycle is a descent."""
    began = MOOBAM(k=5, l=2, classes=classes, rounds=2000, bound_share=0.0).fit(records)
    units = units_of(records, collapse(records), scale="raw", whole_tuples=False)
    labels = began.labels_
    least = float(total_loss(place(units, labels, capacity=int(labels.max()) + 1)))
    ceiling = entropy_ceiling_bits(records.sensitive)
    goal = Goal(best=least, ceiling=ceiling, trade_off=trade_off, minimum_of_sums=False, free=classes is None)
    best = labels
    entropy_stage.HOT = heat

    def report(found: np.ndarray, deviation: float, rounds: int) -> None:
        nonlocal best
        best = found

    anneal(units, labels, np.random.default_rng(0), Budget(seconds=0.0, rounds=tries), goal, k=5, l=2, report=report)
    return scaled_objective(
        loss=float(total_loss(place(units, best, capacity=int(best.max()) + 1))),
        best_loss=least,
        entropy_bits=sum_of_minima_bits(class_entropies_bits(best, records.sensitive)),
        ceiling_bits=ceiling,
        trade_off=trade_off,
    )


def main() -> None:
    """German credit and Adult, four classes and free ones, k = 5, l = 2."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=2_000_000)
    chosen = parser.parse_args()
    heat = entropy_stage.HOT
    rows = []
    for name, records in (("german", german()), ("adult", adult())):
        for classes in (4, None):
            for trade_off in (0.1, 1.0):
                began = time.process_time()
                ours = objective(records, classes, trade_off, chosen.tries, heat=heat)
                seconds = time.process_time() - began
                restarts = objective(records, classes, trade_off, chosen.tries, heat=(0.0,))
                row = {"table": name, "classes": classes, "trade_off": trade_off, "objective": ours}
                rows.append({**row, "objective_of_restarts": restarts, "cpu_seconds": round(seconds, 1)})
                print(rows[-1], flush=True)
    write("microaggregation_restarts", {"seed": 0, "tries": chosen.tries, "rows": rows})


if __name__ == "__main__":
    main()
