"""How tightly two penalties meet the distortion: the paper's symmetric one and the augmented Lagrangian.

Measured where the penalties act: on the rows of the training, with the reconstructor as it stands, over the last five
epochs. On other rows the noise of a sample of 2,000 (about 3 %) would hide the difference.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from _result import write
from aegis.candidates.sanitizers.gaussian import paper_problem
from aegis.candidates.sanitizers.gaussian_curve import gaussian_sample
from aegis.candidates.sanitizers.number_training import train
from aegis.candidates.sanitizers.training_settings import TrainingSettings


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=30)
    arguments = parser.parse_args()
    problem = paper_problem()
    aims = [problem.max_distortion * share for share in (0.1, 0.3, 0.5, 0.7)]
    rows = gaussian_sample(problem, 10_000, rng=np.random.default_rng(0))
    ours = TrainingSettings(
        steps=50 * arguments.epochs, epochs=arguments.epochs, erasure=False, starts=("noise", "random")
    )
    payload = {}
    for name, settings in {
        "symmetric, weight 1000": replace(ours, penalty="symmetric", penalty_weight=1000.0),
        "symmetric, weight 20": replace(ours, penalty="symmetric", penalty_weight=20.0),
        "lagrangian, weight 8": ours,
        "lagrangian, weight 60": replace(ours, penalty_weight=60.0),
    }.items():
        trained = train(
            rows,
            rows,
            targets=aims,
            trials=arguments.trials,
            blank=(problem.max_distortion, tuple(problem.saturation_losses)),
            settings=settings,
        )
        last = trained.distortion_by_epoch[:, :, -5:] / np.array(aims)[:, None, None] - 1
        worst = trained.losses_by_epoch[:, :, -5:].min(axis=-1)
        payload[name] = {
            "mean_relative_gap": float(np.abs(last).mean()),
            "largest_relative_gap": float(np.abs(last).max()),
            "mean_relative_gap_by_target": np.abs(last).mean(axis=(1, 2)).tolist(),
            "mean_worst_loss_by_target": worst.mean(axis=(1, 2)).tolist(),
        }
        print(name, payload[name], flush=True)
    write(
        "sanitizer_penalty",
        {"seed": 0, "targets": aims, "trials": arguments.trials, "epochs": arguments.epochs, "penalties": payload},
    )


if __name__ == "__main__":
    main()
