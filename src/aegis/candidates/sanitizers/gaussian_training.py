"""Training under a Gaussian law, and the trained privatizers as components that a mixture can use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aegis.candidates.sanitizers.components import Component, Erasure, Noise
from aegis.candidates.sanitizers.gaussian import GaussianProblem, proposition_1
from aegis.candidates.sanitizers.learned import Learned
from aegis.candidates.sanitizers.mixtures import Library
from aegis.candidates.sanitizers.training_settings import Sample, TrainingSettings

if TYPE_CHECKING:
    from aegis.candidates.sanitizers.training import Trained

EPSILON_SHARE = 0.1  # records are "pinned" within this many standard deviations of X
_KEPT = 4  # trials of a point that are measured on the channel after training


def gaussian_sample(problem: GaussianProblem, rows: int, *, rng: np.random.Generator) -> Sample:
    """Draws of the problem as training takes them."""
    draws = problem.sample(rows, rng=rng)
    return Sample(
        private=draws[:, 0],
        authorized=draws[:, list(problem.authorized)],
        adversaries=tuple(draws[:, list(party)] for party in problem.adversaries),
    )


def train_gaussian(
    problem: GaussianProblem,
    *,
    aims: Sequence[float],
    trials: int,
    settings: TrainingSettings | None = None,
    caps: Sequence[Sequence[float]] | None = None,
    train_rows: int = 10_000,
    seed: int = 0,
    sample_seed: int | None = None,
    checkpoint: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Trained:
    """Train privatizers for every target, on a sample of the problem's law."""
    from aegis.candidates.sanitizers.training import train

    rng = np.random.default_rng(seed if sample_seed is None else sample_seed)
    settings = settings or TrainingSettings()
    if caps is not None and settings.exposure_weight == 0:
        settings = replace(settings, exposure_weight=20.0)
    return train(
        gaussian_sample(problem, train_rows, rng=rng),
        gaussian_sample(problem, 2_000, rng=rng),
        targets=aims,
        trials=trials,
        blank=(problem.max_distortion, tuple(problem.saturation_losses)),
        settings=settings,
        caps=caps,
        epsilon=EPSILON_SHARE * problem.private_std,
        seed=seed,
        checkpoint=checkpoint,
        progress=progress,
    )


def measured_library(
    problem: GaussianProblem,
    trained: Trained,
    *,
    epsilon: float,
    seed: int = 0,
    kept: int = _KEPT,
    with_exposure: bool = True,
    rows: int = 150_000,
) -> Library:
    """The most promising trials of each target as components, measured by the table attack on fresh rows.

    Pinned shares are computed where they are needed for a cap; otherwise they stand at 1, which promises nothing.
    """
    rng = np.random.default_rng(seed + 500)
    samples = problem.sample(rows, rng=rng)
    x = samples[:, 0]
    parties = [problem.authorized, *problem.adversaries]
    known = [(problem.score(samples, party), problem.conditional_variance(party)) for party in parties]
    components: list[Component] = [Erasure(), Noise(std=0.0)]
    figures = [[variance for _, variance in known], [0.0] * len(known)]
    pinned = [[Erasure().pinned(v, epsilon) for _, v in known[1:]], [1.0] * len(problem.adversaries)]
    for point in range(len(trained.targets)):
        worst = trained.losses[point].min(axis=-1)
        reached = [proposition_1(problem, distortion=max(float(d), 1e-9)).worst for d in trained.distortion[point]]
        for trial in np.argsort(-worst / np.array(reached), kind="stable")[:kept]:
            component = Learned(
                layers=tuple(trained.weights(point, int(trial))),
                center=trained.center,
                scale=trained.scale,
                mean=float(problem.mean[0]),
                std=problem.private_std,
            )
            released = component.release(x, rng)
            components.append(component)
            figures.append([float(((x - component.posterior_mean(released, s, v)) ** 2).mean()) for s, v in known])
            pinned.append([component.pinned(v, epsilon) if with_exposure else 1.0 for _, v in known[1:]])
    table = np.array(figures)
    return Library(
        components=tuple(components),
        authorized_variance=problem.max_distortion,
        adversary_variances=tuple(float(v) for _, v in known[1:]),
        epsilon=epsilon,
        distortions=table[:, 0],
        losses=table[:, 1:],
        pinned=np.array(pinned),
    )
