"""The paper's Gaussian experiment to the letter: what its protocol claims, and what an audit finds."""

from __future__ import annotations

import argparse

from _result import write
from aegis.candidates.sanitizers.gaussian import paper_problem
from aegis.candidates.sanitizers.gaussian_curve import AuditRows
from aegis_papers.minimax_gaussian_experiment import paper_curve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=30)
    parser.add_argument("--trials", type=int, default=15)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    curve = paper_curve(
        paper_problem(),
        points=arguments.points,
        trials=arguments.trials,
        epochs=arguments.epochs,
        most_rounds=arguments.rounds,
        rows=AuditRows(fit=40_000, compare=20_000, measure=200_000),
        progress=lambda done, total, what: print(what, done, total, flush=True) if done % 25 == 0 else None,
    )
    for point in curve.points:
        print(f"{point.target:.3f} {point.distortion:.3f} {point.learned:.3f} {point.worst:.3f} {point.theory:.3f}")
    claimed = [point.learned / point.theory for point in curve.points if point.learned is not None]
    write(
        "sanitizer_paper",
        {
            **curve.to_json(),
            "asked_points": arguments.points,
            "trials": arguments.trials,
            "epochs": arguments.epochs,
            "rounds": arguments.rounds,
            "mean_claimed_ratio": sum(claimed) / len(claimed),
            "stronger_than_claimed": sum("stronger" in point.method for point in curve.points),
            "distortion_not_confirmed": sum("not confirmed" in point.method for point in curve.points),
        },
    )


if __name__ == "__main__":
    main()
