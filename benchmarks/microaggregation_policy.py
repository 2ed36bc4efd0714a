"""MO-OBAM under a policy: what every try of the search is held against, beside joining what fails afterwards.

After as many rounds. The rival is the same search that knows k alone and judges whole partitions: the classes that fail
join the nearest others, and what counts is the loss after that.
"""

from __future__ import annotations

import time
from typing import Any
from unittest.mock import patch

import numpy as np

from _result import write
from aegis.candidates.clusters.class_limits import ClassLimits, limits_of
from aegis.candidates.clusters.mo_obam import MOOBAM
from aegis.candidates.clusters.records import Records
from aegis.privacy.policy import Policy
from microaggregation_data import german

K, ROUNDS, SEEDS = 5, 4000, 3
STATUS, SAVINGS = "checking_status", "savings_status"
POLICIES: dict[str, dict[str, Any]] = {
    "l = 3": {"l": {STATUS: 3, SAVINGS: 3}},
    "entropy l = 2.5": {"l": {STATUS: {"kind": "entropy", "l": 2.5}}},
    "recursive (2, 2)": {"l": {STATUS: {"kind": "recursive", "l": 2, "c": 2}}},
    "t = 0.3": {"t": {STATUS: 0.3}},
    "t = 0.15": {"t": {STATUS: 0.15}},
    "beta = 1.5": {"beta": {STATUS: 1.5}},
    "beta = 1, both": {"beta": {STATUS: 1, SAVINGS: 1}},
    "delta = 1.5": {"delta": {STATUS: 1.5}},
    "delta = 0.7": {"delta": {STATUS: 0.7}},
    "alpha = 0.6": {"alpha": {STATUS: 0.6}},
    "marketer 0.1": {"risk": {"marketer": 0.1}},
}


def known_to_the_judge_only(records: Records, policy: Policy | None) -> ClassLimits:
    """As if the counts of a class answered nothing."""
    return limits_of(records, policy)._replace(asked=False)


def losses(records: Records, policy: Policy) -> tuple[list[float], float]:
    """What the search reaches with every seed, and its CPU seconds."""
    clock = time.process_time()
    reached = [
        MOOBAM(policy=policy, rounds=ROUNDS, random_state=seed, bound_share=0.0).fit(records).result_.information_loss
        for seed in range(SEEDS)
    ]
    return reached, time.process_time() - clock


def main() -> None:
    """German credit at k = 5 under one model after the other."""
    records = german()
    MOOBAM(policy=Policy.from_mapping({"k": K, "t": {STATUS: 0.3}}), rounds=50).fit(records)  # compile
    rows = []
    for name, asked in POLICIES.items():
        policy = Policy.from_mapping({"k": K, **asked})
        inside, seconds = losses(records, policy)
        with patch("aegis.candidates.clusters.mo_obam.limits_of", known_to_the_judge_only):
            after, seconds_after = losses(records, policy)
        rows.append(
            {
                "policy": name,
                "losses_inside": inside,
                "mean_inside": float(np.mean(inside)),
                "cpu_seconds_inside": round(seconds, 2),
                "losses_joined_after": after,
                "mean_joined_after": float(np.mean(after)),
                "cpu_seconds_joined_after": round(seconds_after, 2),
            }
        )
        print(rows[-1], flush=True)
    write("microaggregation_policy", {"table": "german", "k": K, "rounds": ROUNDS, "seeds": SEEDS, "rows": rows})


if __name__ == "__main__":
    main()
