"""The audited Gaussian curve in the paper's setting: free, with exposure capped, and for a coalition."""

from __future__ import annotations

import argparse
import os
import time

from _result import write
from aegis.candidates.sanitizers.curve import Curve
from aegis.candidates.sanitizers.gaussian import coalition_problem, paper_problem
from aegis.candidates.sanitizers.gaussian_curve import gaussian_curve
from aegis.candidates.sanitizers.training_settings import TrainingSettings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=30)
    parser.add_argument("--trials", type=int, default=15)
    parser.add_argument("--steps", type=int, default=2500)
    parser.add_argument("--only", choices=("free", "capped", "coalition"))
    parser.add_argument("--name", default="sanitizer_gaussian")
    arguments = parser.parse_args()
    settings = TrainingSettings(steps=arguments.steps)
    payload = {}
    for name in ("free", "capped", "coalition") if arguments.only is None else (arguments.only,):
        began = time.perf_counter()
        curve = gaussian_curve(
            coalition_problem() if name == "coalition" else paper_problem(),
            points=arguments.points,
            trials=arguments.trials,
            exposure_capped=name == "capped",
            settings=settings,
        )
        payload[name] = {"checks": checks(curve), "wall_seconds": time.perf_counter() - began, **curve.to_json()}
        print(name, payload[name]["checks"], payload[name]["seconds"], f"wall {payload[name]['wall_seconds']:.0f} s")
    cores = len(os.sched_getaffinity(0))
    write(arguments.name, {"seed": 0, "cores_used": cores, "steps": arguments.steps, "curves": payload})


def checks(curve: Curve) -> dict[str, float]:
    """The figures that the curve is judged by."""
    return {
        "mean_ratio": curve.mean_ratio,
        "least_lower_limit_over_theory": min(p.interval[0] / p.theory for p in curve.points),
        "largest_distortion_over_target": max(p.distortion / p.target for p in curve.points),
        # the same two from fresh draws alone, noise included
        "least_drawn_lower_limit_over_theory": min(
            (p.drawn_worst - (p.interval[1] - p.interval[0]) / 2) / p.theory for p in curve.points
        ),
        "largest_drawn_distortion_over_target": max(p.drawn_distortion / p.target for p in curve.points),
        "points_that_use_a_learned_component": sum("learned" in p.method for p in curve.points),
        "largest_excess_of_pinned_share": max(
            p.exposure.pinned_share - (p.exposure.reference_pinned_share or 0.0) for p in curve.points
        ),
        "mean_ratio_erasure": sum(float(p.erasure) / p.theory for p in curve.points) / len(curve.points),
        "mean_ratio_modulo": sum(p.baselines["modulo"] / p.theory for p in curve.points) / len(curve.points),
        "mean_ratio_learned": sum((p.learned or 0.0) / p.theory for p in curve.points) / len(curve.points),
    }


if __name__ == "__main__":
    main()
