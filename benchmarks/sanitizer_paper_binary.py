"""The paper's binary experiment to the letter: what its protocol claims, and what holds of it."""

from __future__ import annotations

import argparse

from _result import write
from aegis.candidates.sanitizers.finite import binary_problem
from aegis_papers.minimax_binary_experiment import binary_settings, paper_binary_curve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=30)
    parser.add_argument("--trials", type=int, default=15)
    parser.add_argument("--epochs", type=int, default=1000)
    parser.add_argument("--steps-per-epoch", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--name", default="sanitizer_paper_binary")
    arguments = parser.parse_args()
    curve = paper_binary_curve(
        binary_problem(p=0.54, qy=0.2, qz=[0.44]),
        points=arguments.points,
        trials=arguments.trials,
        settings=binary_settings(epochs=arguments.epochs, steps_per_epoch=arguments.steps_per_epoch),
        most_rounds=arguments.rounds,
        progress=lambda stage, done, total: print(stage, done, total, flush=True) if done % 100 == 0 else None,
    )
    for p in curve.points:
        print(f"{p.target:.4f} {p.distortion:.4f} {p.learned:.4f} {p.worst:.4f} {p.theory:.4f} {p.method}")
    claimed = [p.learned / p.theory for p in curve.points if p.learned is not None]
    kept = [p.worst / p.baselines["at_own_distortion"] for p in curve.points]
    write(
        arguments.name,
        {
            **curve.to_json(),
            "asked_points": arguments.points,
            "trials": arguments.trials,
            "epochs": arguments.epochs,
            "steps_per_epoch": arguments.steps_per_epoch,
            "rounds": arguments.rounds,
            "mean_claimed_ratio": sum(claimed) / len(claimed),
            "mean_ratio_at_own_distortion": sum(kept) / len(kept),
            "stronger_than_claimed": sum("stronger" in p.method for p in curve.points),
            "distortion_not_confirmed": sum("not confirmed" in p.method for p in curve.points),
        },
    )


if __name__ == "__main__":
    main()
