"""The entropy stage of MO-OBAM against random restarts: the objective of equation 18 after the same number of tries.

Both begin where the search for the least loss ended, and go straight downhill first. The rival then goes straight
downhill from random partitions, from mixed ones and on from the best so far by turns, with the same steps. With
``--policy`` both keep l = 2 and t-closeness of every sensitive attribute; beside them stands the stage that knows
nothing of the policy, and whose failing classes are joined when it has ended.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from _result import write
from aegis.arrays import Ints
from aegis.candidates.clusters import entropy_stage
from aegis.candidates.clusters.budget import Budget
from aegis.candidates.clusters.class_limits import PolicyClasses, limits_of
from aegis.candidates.clusters.entropy_stage import CYCLES, Cycle, anneal
from aegis.candidates.clusters.mixing import Goal, loss_and_entropy, objective_value
from aegis.candidates.clusters.mo_obam import MIXES_AT_ONCE, MOOBAM
from aegis.candidates.clusters.outcome import entropy_ceiling_bits
from aegis.candidates.clusters.records import Records, collapse
from aegis.candidates.clusters.units import units_of
from aegis.privacy.policy import Policy
from microaggregation_data import adult, german

K, L, T = 5, 2, 0.3
RESTARTS = (Cycle("mixed"), *[Cycle("best"), Cycle("random")] * 3, Cycle("best"))


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way to spend the tries: what follows the first cycle, and whether the policy is kept on the way."""

    cycles: tuple[Cycle, ...]
    keeps: bool = True


WAYS = {"stage": Way(cycles=CYCLES), "restarts": Way(cycles=RESTARTS)}
JOINED_AFTER = {"joined_after": Way(cycles=CYCLES, keeps=False)}


def objective(
    records: Records,
    began: Ints,
    trade_off: float,
    tries: int,
    seed: int,
    *,
    free: bool,
    way: Way,
    policy: Policy | None,
) -> tuple[float, float]:
    """What a way reaches with so many tries, scaled by the loss that all begin with, and its CPU seconds."""
    units = units_of(records, collapse(records), scale="raw", whole_tuples=False)
    ceiling = entropy_ceiling_bits(records.sensitive)
    goal = Goal(best=1.0, ceiling=ceiling, trade_off=trade_off, minimum_of_sums=False, free=free)
    goal = goal._replace(best=loss_and_entropy(units, began, goal)[0])
    best = began
    entropy_stage.CYCLES = way.cycles

    def report(labels: Ints, deviation: float, rounds: int) -> None:
        nonlocal best
        best = labels

    budget = Budget(seconds=0.0, rounds=tries, most_at_once=MIXES_AT_ONCE)
    judge = None if policy is None else PolicyClasses(records, policy, scale="raw")
    limits = limits_of(records, policy if way.keeps else None)
    admit = judge.joined if judge is not None and way.keeps else None
    rng = np.random.default_rng(seed)
    clock = time.process_time()
    anneal(units, began, rng, budget, goal, k=K, l=L, limits=limits, report=report, admit=admit)
    if judge is not None:
        best = judge.joined(best)
    seconds = time.process_time() - clock
    return float(objective_value(goal, *loss_and_entropy(units, best, goal))), seconds


def compared(
    records: Records,
    began: Ints,
    trade_off: float,
    *,
    tries: int,
    seeds: int,
    classes: int | None,
    policy: Policy | None,
) -> dict[str, Any]:
    """A row of the result: all ways after the same tries, seed by seed."""
    row: dict[str, Any] = {"classes": classes, "trade_off": trade_off}
    for who, way in (WAYS if policy is None else WAYS | JOINED_AFTER).items():
        runs = [
            objective(records, began, trade_off, tries, seed, free=classes is None, way=way, policy=policy)
            for seed in range(seeds)
        ]
        row[f"objectives_of_{who}"] = [reached for reached, _ in runs]
        row[f"mean_of_{who}"] = float(np.mean([reached for reached, _ in runs]))
        row[f"cpu_seconds_of_{who}"] = round(sum(seconds for _, seconds in runs), 2)
    pairs = list(zip(row["objectives_of_stage"], row["objectives_of_restarts"], strict=True))
    row["seeds_ahead"] = sum(ours < theirs - 1e-9 for ours, theirs in pairs)
    row["seeds_behind"] = sum(ours > theirs + 1e-9 for ours, theirs in pairs)
    return row


def policy_for(records: Records) -> Policy:
    """Two values and t-closeness of every sensitive attribute."""
    names = records.sensitive_names
    return Policy.from_mapping({"k": K, "l": dict.fromkeys(names, L), "t": dict.fromkeys(names, T)})


def main() -> None:
    """One table, four classes and free ones, k = 5, l = 2; under a policy free ones only, as it joins them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=("german", "adult"))
    parser.add_argument("--tries", type=int, default=400_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--policy", action="store_true")
    chosen = parser.parse_args()
    records = german() if chosen.table == "german" else adult()
    policy = policy_for(records) if chosen.policy else None
    rows = []
    for classes in (None,) if policy else (4, None):
        asked: dict[str, Any] = {"k": K, "l": L, "classes": classes} if policy is None else {"policy": policy}
        began = MOOBAM(**asked, rounds=2000, bound_share=0.0).fit(records).labels_
        compared(records, began, 1.0, tries=100, seeds=1, classes=classes, policy=policy)  # compile outside the clock
        for trade_off in (0.1, 1.0):
            row = compared(
                records, began, trade_off, tries=chosen.tries, seeds=chosen.seeds, classes=classes, policy=policy
            )
            rows.append(row)
            print(row, flush=True)
    facts: dict[str, Any] = {"k": K, "l": L, "tries": chosen.tries, "seeds": chosen.seeds}
    if policy is not None:
        facts["policy"] = policy.to_mapping()
    write(f"microaggregation_restarts_{chosen.table}{'_policy' if policy else ''}", facts | {"rows": rows})


if __name__ == "__main__":
    main()
