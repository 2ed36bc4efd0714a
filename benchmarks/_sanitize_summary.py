"""The figures that are claimed of sanitized tables: counts over the columns and seeds that were measured."""

from __future__ import annotations

from typing import Any

import numpy as np

from aegis.candidates.sanitizers.audited_column import CERTAIN_CAP


def summary(cases: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures that are claimed: counts over columns and seeds."""
    made = [(case, seed) for case in cases for seed in case["seeds"] if "refused" not in seed]
    released = [seed["program_gap"] for case, seed in made if case["law"]["bound"] is not None]
    laws = [case["law"] for case in cases if case["law"]["program"] is not None]
    ratios = {
        name: [
            law["program"] / law["rivals"][name]["adversary_error_within_caps"]
            for law in laws
            if law["rivals"][name]["adversary_error_within_caps"] is not None
        ]
        for name in (laws[0]["rivals"] if laws else ())
    }
    bounds = [law["share_of_bound"] for law in laws if law["share_of_bound"] is not None]
    return {
        "columns": len(cases),
        "seeds": len(cases[0]["seeds"]),
        "releases": len(made),
        "refused": sum("refused" in seed for case in cases for seed in case["seeds"]),
        "within_distortion_on_fresh_rows": float(
            np.mean([seed["reconstructor_on_fresh_rows"] <= case["distortion"] for case, seed in made])
        ),
        "within_distortion_and_noise_of_fresh_rows": float(
            np.mean([seed["reconstructor_on_fresh_rows"] <= 1.05 * case["distortion"] for case, seed in made])
        ),
        "by_column": {f"{case['table']}/{case['column']}": _of_column(case) for case in cases},
        "claims_beyond_the_best_attacker": sum(seed["claim_exceeds_by_more_than_its_interval"] for _, seed in made),
        "claims_judged": len(made),
        "most_determined_beyond_before": max(seed["determined"] - seed["determined_before"] for _, seed in made),
        "cap_on_determined": CERTAIN_CAP,
        "least_share_of_bound": min(bounds, default=None),
        # what was released is also held to every law of the set and kept from making single records certain
        "released_categories_share_of_bound": {
            "releases": len(released),
            "least": 1 - max(released, default=0.0),
            "mean": 1 - float(np.mean(released or [0.0])),
            "at_least_95_percent": float(np.mean([gap <= 0.05 for gap in released] or [1.0])),
        },
        "ratio_to_rivals_within_the_caps": {
            name: {"columns": len(values), "least": min(values), "mean": float(np.mean(values))}
            for name, values in ratios.items()
            if values
        },
        "ratio_to_the_best_rival_of_each_column": _best_ratio(laws),
        "ratio_to_leace_at_equal_distortion": _leace_ratio(cases),
        "columns_where_no_weight_keeps_caps_and_distortion": {
            name: len(laws) - len(values) for name, values in ratios.items()
        },
    }


def _of_column(case: dict[str, Any]) -> dict[str, Any]:
    """How often a column was released, kept its distortion on fresh rows, and claimed too much; claims on average."""
    made = [seed for seed in case["seeds"] if "refused" not in seed]
    if not made:
        return {"releases": 0}
    over = [seed["claimed_adversary_error"] / seed["best_attacker_error"] for seed in made]
    return {
        "releases": len(made),
        "within_distortion": float(np.mean([s["reconstructor_on_fresh_rows"] <= case["distortion"] for s in made])),
        "mean_error_of_distortion": float(np.mean([s["reconstructor_on_fresh_rows"] for s in made]))
        / case["distortion"],
        "claims_beyond": sum(seed["claim_exceeds_by_more_than_its_interval"] for seed in made),
        "mean_claim_over_best_attacker": float(np.mean(over)),
    }


def _leace_ratio(cases: list[dict[str, Any]]) -> dict[str, float | int]:
    ratios = [
        case["law"]["program"] / case["leace"]["adversary_error"]
        for case in cases
        if case["law"]["program"] is not None
    ]
    return {"columns": len(ratios), "least": min(ratios), "mean": float(np.mean(ratios))} if ratios else {"columns": 0}


def _best_ratio(laws: list[dict[str, Any]]) -> dict[str, float | int]:
    """The program beside whichever plain mechanism leaves the adversary most, column by column."""
    ratios = []
    for law in laws:
        reached = [rival["adversary_error_within_caps"] for rival in law["rivals"].values()]
        best = max((error for error in reached if error is not None), default=None)
        if best is not None:
            ratios.append(law["program"] / best)
    return {"columns": len(ratios), "least": min(ratios), "mean": float(np.mean(ratios))} if ratios else {"columns": 0}
