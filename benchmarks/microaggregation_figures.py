"""MO-OBAM on German credit and Adult: information loss on the raw scale, unrounded means, k and l = 2 hard.

Run as ``python benchmarks/microaggregation_figures.py [german|adult]``: German credit about 6 minutes, Adult about 16,
both by the clock, so on a machine with nothing else to do. ``reach`` is the figure that was asked for, ``paper`` what
the MO-OBAM paper prints (its own method for a fixed number of classes, its MDAV row otherwise). Where a figure is not
reached the bound is given more time of its own; a bound for a smaller k holds for every larger one as well.
"""

from __future__ import annotations

import sys

from _result import write
from aegis.candidates.clusters.lower_bound import lower_bound
from aegis.candidates.clusters.mo_obam import MOOBAM
from microaggregation_data import adult, german, row

KS = (5, 10, 15, 20)
CASES = {
    "german": [
        *[
            (k, 30, p, r)
            for k, p, r in zip(KS, (0.0147, 0.0153, 0.0153, 0.0148), (0.0066, 0.0071, 0.0078, 0.0086), strict=True)
        ],
        *[
            (k, None, p, r)
            for k, p, r in zip(KS, (0.0166, 0.0255, 0.0408, 0.0545), (0.00178, 0.0038, 0.0057, 0.0075), strict=True)
        ],
    ],
    "adult": [
        *[(k, 100, 0.0116, 0.0025) for k in KS],
        *[
            (k, None, p, r)
            for k, p, r in zip(KS, (0.0010, 0.0022, 0.0034, 0.0045), (0.00013, 0.00026, 0.00037, 0.00048), strict=True)
        ],
    ],
}
SECONDS = {"german": 20.0, "adult": 60.0}
PROOF_SECONDS = {"german": 120.0, "adult": 420.0}  # beyond the fit, where the figure was not reached


def run(name: str) -> None:
    """All rows of one table."""
    records = german() if name == "german" else adult()
    MOOBAM(k=5, l=2, rounds=50).fit(records)  # compile (or load) outside the clock
    MOOBAM(k=5, l=2, classes=20, rounds=50).fit(records)
    rows = []
    proved: dict[int | None, float] = {}  # the best bound so far for a number of classes, from the smaller k
    for k, classes, paper, reach in CASES[name]:
        search = MOOBAM(k=k, l=2, classes=classes, seconds=SECONDS[name], bound_share=0.1, random_state=1)
        search.fit(records)
        entry = {"n_C": classes, "paper": paper, "reach": reach, **row(search, records)}
        entry["reached"] = entry["information_loss"] <= reach
        entry["lower_bound"] = max(entry["lower_bound"], proved.get(classes, 0.0))
        if not entry["reached"] and entry["lower_bound"] <= reach:
            longer = lower_bound(
                records,
                search.labels_,
                k=k,
                classes=classes,
                class_price=search.class_price_,
                seconds=PROOF_SECONDS[name],
            )
            entry["lower_bound"] = max(entry["lower_bound"], longer)
        if not entry["reached"]:
            entry["figure_proved_impossible"] = entry["lower_bound"] > reach
        proved[classes] = entry["lower_bound"]
        rows.append(entry)
        print(entry, flush=True)
    write(f"microaggregation_{name}", {"seed": 1, "seconds_allowed": SECONDS[name], "rows": rows})


if __name__ == "__main__":
    for chosen in sys.argv[1:] or CASES:
        run(chosen)
