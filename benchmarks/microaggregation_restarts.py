"""The entropy stage of MO-OBAM against random restarts: the objective of equation 18 after the same number of tries.

Both begin where the search for the least loss ended, and go straight downhill first. The rival then goes straight
downhill from random partitions, from mixed ones and on from the best so far by turns, with the same steps.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from _result import write
from aegis.arrays import Ints
from aegis.candidates.clusters import entropy_stage
from aegis.candidates.clusters.budget import Budget
from aegis.candidates.clusters.class_limits import limits_of
from aegis.candidates.clusters.entropy_stage import CYCLES, Cycle, anneal
from aegis.candidates.clusters.mixing import Goal
from aegis.candidates.clusters.mo_obam import MIXES_AT_ONCE, MOOBAM
from aegis.candidates.clusters.records import Records, collapse
from aegis.candidates.clusters.risk import (
    class_entropies_bits,
    entropy_ceiling_bits,
    scaled_objective,
    sum_of_minima_bits,
)
from aegis.candidates.clusters.units import place, total_loss, units_of
from microaggregation_data import adult, german

K, L = 5, 2
RESTARTS = (Cycle("mixed"), *[Cycle("best"), Cycle("random")] * 3, Cycle("best"))


def objective(
    records: Records, began: Ints, trade_off: float, tries: int, seed: int, *, free: bool, cycles: tuple[Cycle, ...]
) -> tuple[float, float]:
    """What the stage reaches with so many tries, and its CPU seconds."""
    units = units_of(records, collapse(records), scale="raw", whole_tuples=False)
    least = float(total_loss(place(units, began, capacity=int(began.max()) + 1)))
    ceiling = entropy_ceiling_bits(records.sensitive)
    goal = Goal(best=least, ceiling=ceiling, trade_off=trade_off, minimum_of_sums=False, free=free)
    best = began
    entropy_stage.CYCLES = cycles

    def report(labels: Ints, deviation: float, rounds: int) -> None:
        nonlocal best
        best = labels

    budget = Budget(seconds=0.0, rounds=tries, most_at_once=MIXES_AT_ONCE)
    clock = time.process_time()
    limits = limits_of(records, None)
    anneal(units, began, np.random.default_rng(seed), budget, goal, k=K, l=L, limits=limits, report=report)
    seconds = time.process_time() - clock
    reached = scaled_objective(
        loss=float(total_loss(place(units, best, capacity=int(best.max()) + 1))),
        best_loss=least,
        entropy_bits=sum_of_minima_bits(class_entropies_bits(best, records.sensitive)),
        ceiling_bits=ceiling,
        trade_off=trade_off,
    )
    return reached, seconds


def compared(
    records: Records, began: Ints, trade_off: float, *, tries: int, seeds: int, classes: int | None
) -> dict[str, Any]:
    """A row of the result: both after the same tries, seed by seed."""
    figures = {
        who: [
            objective(records, began, trade_off, tries, seed, free=classes is None, cycles=cycles)
            for seed in range(seeds)
        ]
        for who, cycles in (("stage", CYCLES), ("restarts", RESTARTS))
    }
    row: dict[str, Any] = {"classes": classes, "trade_off": trade_off}
    for who, runs in figures.items():
        row[f"objectives_of_{who}"] = [reached for reached, _ in runs]
        row[f"mean_of_{who}"] = float(np.mean([reached for reached, _ in runs]))
        row[f"cpu_seconds_of_{who}"] = round(sum(seconds for _, seconds in runs), 2)
    pairs = list(zip(row["objectives_of_stage"], row["objectives_of_restarts"], strict=True))
    row["seeds_ahead"] = sum(ours < theirs - 1e-9 for ours, theirs in pairs)
    row["seeds_behind"] = sum(ours > theirs + 1e-9 for ours, theirs in pairs)
    return row


def main() -> None:
    """One table, four classes and free ones, k = 5, l = 2."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=("german", "adult"))
    parser.add_argument("--tries", type=int, default=400_000)
    parser.add_argument("--seeds", type=int, default=5)
    chosen = parser.parse_args()
    records = german() if chosen.table == "german" else adult()
    rows = []
    for classes in (4, None):
        began = MOOBAM(k=K, l=L, classes=classes, rounds=2000, bound_share=0.0).fit(records).labels_
        objective(records, began, 1.0, 100, 0, free=classes is None, cycles=CYCLES)  # compile outside the clock
        for trade_off in (0.1, 1.0):
            rows.append(compared(records, began, trade_off, tries=chosen.tries, seeds=chosen.seeds, classes=classes))
            print(rows[-1], flush=True)
    facts = {"k": K, "l": L, "tries": chosen.tries, "seeds": chosen.seeds, "rows": rows}
    write(f"microaggregation_restarts_{chosen.table}", facts)


if __name__ == "__main__":
    main()
