"""How long the whole Gaussian curve takes to train: 30 distortions × 15 trials × 5,000 steps, three inner steps."""

from __future__ import annotations

import argparse

from _result import write
from aegis.candidates.sanitizers.gaussian import paper_problem
from aegis.candidates.sanitizers.gaussian_curve import train_gaussian
from aegis.candidates.sanitizers.training_settings import TrainingSettings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=30)
    parser.add_argument("--trials", type=int, default=15)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--name", default="sanitizer_training")
    arguments = parser.parse_args()
    problem = paper_problem()
    aims = [problem.max_distortion * i / arguments.points for i in range(1, arguments.points + 1)]
    settings = TrainingSettings(steps=arguments.steps, epochs=25, inner_steps=3)
    trained = train_gaussian(problem, aims=aims, trials=arguments.trials, settings=settings)
    print(trained.device, f"compile {trained.compile_seconds:.2f} s, train {trained.train_seconds:.2f} s")
    write(
        arguments.name,
        {
            "device": trained.device,
            "points": arguments.points,
            "trials": arguments.trials,
            "steps": arguments.steps,
            "inner_steps": 3,
            "seed": 0,
            "compile_seconds": trained.compile_seconds,
            "train_seconds": trained.train_seconds,
        },
    )


if __name__ == "__main__":
    main()
