"""MDAV: the MO-OBAM paper's rows (z-scored labels, rounded means) beside MDAV on the metric that the loss uses.

About five minutes. Many records are equally far from each other, so what MDAV gives depends on the order in which ties
are taken. Each row is therefore repeated with the records in a hundred random orders: a printed figure between the
least and the most of these is explained by ties, one outside is not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from _result import write
from aegis.candidates.clusters.mdav import MDAV
from aegis.candidates.clusters.outcome import risk_before
from aegis.candidates.clusters.records import Records
from microaggregation_data import adult, german, row

# distinct tuples, loss, people at linkage risk at .05/.075/.1, people at homogeneity risk, as printed
PAPER: dict[str, dict[int, tuple[int, float, tuple[int, int, int], int]]] = {
    "german": {
        5: (149, 0.0166, (940, 790, 570), 50),
        10: (90, 0.0255, (810, 810, 0), 0),
        15: (63, 0.0408, (885, 0, 0), 0),
        20: (49, 0.0545, (0, 0, 0), 0),
    },
    "adult": {
        5: (1232, 0.0010, (5925, 4590, 3050), 5),
        10: (930, 0.0022, (5080, 5080, 0), 0),
        15: (774, 0.0034, (4167, 0, 0), 0),
        20: (673, 0.0045, (0, 0, 0), 0),
    },
}
ORDERS = 100
NAMES = ("distinct_tuples", "information_loss", "linkage_0.05", "linkage_0.075", "linkage_0.1", "homogeneity")


def compare(name: str, records: Records) -> dict[str, Any]:
    """All k of one table."""
    before = risk_before(records)
    rows = []
    for k, (classes, loss, linkage, homogeneity) in PAPER[name].items():
        theirs = row(_as_in_the_paper(k).fit(records), records)
        ours = row(MDAV(k=k).fit(records), records)
        printed = dict(zip(NAMES, (classes, loss, *linkage, homogeneity), strict=True))
        rows.append(
            {
                "k": k,
                "paper": {"distinct_tuples": classes, "loss": loss, "linkage": linkage, "homogeneity": homogeneity},
                "reproduced": theirs,
                "same": theirs["distinct_tuples"] == classes
                and round(theirs["information_loss"], 4) == loss
                and tuple(theirs["linkage"].values()) == linkage,
                "in_random_orders": _orders(records, k, printed),
                "possible_by_arithmetic": _arithmetic(len(records), k, linkage),
                "on_the_metric_of_the_loss": ours,
            }
        )
        print(name, k, rows[-1]["same"], rows[-1]["in_random_orders"], rows[-1]["possible_by_arithmetic"], flush=True)
    baseline = {
        "classes": before.classes,
        "linkage": {str(tau): people for tau, people in before.linkage.items()},
        "homogeneity": before.homogeneity,
    }
    return {"baseline": baseline, "rows": rows}


def _as_in_the_paper(k: int) -> MDAV:
    return MDAV(k=k, metric="z-scored labels", centroid="rounded")


def _orders(records: Records, k: int, printed: dict[str, float]) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    found: list[list[float]] = []
    for _ in range(ORDERS):
        order = rng.permutation(len(records))
        shuffled = replace(
            records,
            numeric=records.numeric[order],
            categorical=records.categorical[order],
            sensitive=records.sensitive[order],
        )
        result = _as_in_the_paper(k).fit(shuffled).result_
        after = result.after
        found.append(
            [result.distinct_tuples, result.information_loss, *after.linkage.values(), float(after.homogeneity)]
        )
    low, high = np.min(found, axis=0), np.max(found, axis=0)
    ranges = {
        name: {
            "paper": printed[name],
            "least": float(low[i]),
            "most": float(high[i]),
            "within": _digits(low[i], down=True) <= printed[name] <= _digits(high[i], down=False),
        }
        for i, name in enumerate(NAMES)
    }
    return {"orders": ORDERS, **ranges}


def _digits(value: float, *, down: bool) -> float:
    """Four digits as the paper prints them; it cuts off about as often as it rounds (entropy .918 stands as .91)."""
    return float(np.floor(value * 1e4) / 1e4 if down else np.round(value, 4))


def _arithmetic(records: int, k: int, linkage: tuple[int, int, int]) -> dict[str, Any]:
    """Whether so many people can be at risk at .05 at all, where a published class is a union of classes of MDAV.

    MDAV makes classes of exactly k and one of what remains; from k = 10 on, two of them together have 20 and more.
    So the people in published classes below 20 are a multiple of k, and the remaining class if that is below 20 and
    stands alone. Standard MDAV leaves k to 2k − 1; a loop that runs on leaves fewer than k, who are then at risk at
    the higher thresholds as well.
    """
    if k < 10 or k >= 20:
        return {"judged": False}
    left = records % k
    standard = {0} | ({left + k} if left + k < 20 else set())
    runs_on = {left} if left else set()
    rest = {one for one in standard | runs_on if linkage[0] >= one and (linkage[0] - one) % k == 0}
    consistent = [one for one in sorted(rest) if one == 0 or (linkage[1] >= one) == (1 / one > 0.075)]
    return {
        "judged": True,
        "records_modulo_k": left,
        "people_modulo_k": linkage[0] % k,
        "sizes_of_the_remaining_class_that_fit_0.05": sorted(rest),
        "of_these_consistent_with_0.075": consistent,
        "possible": bool(consistent),
    }


if __name__ == "__main__":
    MDAV(k=5).fit(german())  # compile outside the clock
    write("microaggregation_mdav", {"german": compare("german", german()), "adult": compare("adult", adult())})
