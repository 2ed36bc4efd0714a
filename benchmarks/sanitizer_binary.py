"""The binary setting of the paper: learned releases of two and three symbols against their exact optima, audited."""

from __future__ import annotations

import argparse

from _result import write
from aegis.candidates.sanitizers.finite import binary_problem
from aegis.candidates.sanitizers.finite_curve import finite_curve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=30)
    parser.add_argument("--trials", type=int, default=15)
    parser.add_argument("--name", default="sanitizer_binary")
    arguments = parser.parse_args()
    problem = binary_problem(p=0.54, qy=0.2, qz=[0.44])
    payload = {}
    for symbols in (2, 3):
        curve = finite_curve(problem, points=arguments.points, trials=arguments.trials, symbols=symbols)
        least = min(p.worst / p.baselines["program"] for p in curve.points)
        print(f"{symbols} symbols: least share of the program's optimum {least:.4f}, {curve.seconds}")
        payload[f"symbols_{symbols}"] = {
            "least_share_of_optimum": least,
            "largest_distortion_over_target": max(p.distortion / p.target for p in curve.points),
            **curve.to_json(),
        }
    write(arguments.name, {"seed": 0, "curves": payload})


if __name__ == "__main__":
    main()
