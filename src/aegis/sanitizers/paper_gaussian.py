"""The paper's Gaussian experiment to the letter, and what an audit says of the points it would publish.

Distortions from D0 to Var[X|Y]; 10,000 rows to train on and 2,000 to test; rounds of trials until fifteen are accepted
at every distortion or patience ends. The chosen trial is taken at its chosen epoch and audited like any other release:
``learned`` is what the protocol claims for it, the rest of the point is what fresh attackers found.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from aegis.errors import NotConvergedError
from aegis.sanitizers.components import Erasure
from aegis.sanitizers.curve import Curve, CurvePoint, Seconds, check_counts
from aegis.sanitizers.gaussian import GaussianProblem, proposition_1
from aegis.sanitizers.gaussian_audit import AuditRows, audit_mixture
from aegis.sanitizers.gaussian_training import EPSILON_SHARE, train_gaussian
from aegis.sanitizers.learned import Learned
from aegis.sanitizers.mixtures import Mixture
from aegis.sanitizers.protocol import ProtocolPoint, paper_points, paper_targets
from aegis.sanitizers.training_settings import TrainingSettings

if TYPE_CHECKING:
    from aegis.sanitizers.training import Trained

FIRST = 0.005  # the paper's D0
Progress = Callable[[str, int, int], None]
Floats = NDArray[np.float64]


@dataclass(slots=True)
class _Trials:
    """What all rounds so far gave for each target."""

    distortions: list[list[Floats]]
    losses: list[list[Floats]]
    sources: list[list[tuple[Trained, int, int]]]

    def add(self, trained: Trained, places: list[int]) -> None:
        for position, place in enumerate(places):
            self.distortions[place].append(trained.distortion_by_epoch[position])
            self.losses[place].append(trained.losses_by_epoch[position])
            count = trained.distortion_by_epoch.shape[1]
            self.sources[place] += [(trained, position, trial) for trial in range(count)]

    def points(self, targets: tuple[float, ...], wanted: int) -> tuple[ProtocolPoint, ...]:
        stacked = [np.concatenate(parts) for parts in self.distortions]
        return paper_points(targets, stacked, [np.concatenate(parts) for parts in self.losses], wanted=wanted)


def paper_curve(
    problem: GaussianProblem,
    *,
    points: int = 30,
    trials: int = 15,
    epochs: int = 100,
    most_rounds: int = 4,
    rows: AuditRows | None = None,
    attackers: tuple[str, ...] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Curve:
    """The protocol's curve, audited; ``trials`` is both the size of a round and how many must be accepted.

    A distortion at which no trial was accepted after ``most_rounds`` rounds has no point. An audit that contradicts
    the protocol's claim is not an error here: the point says so in its ``method``. At distortions far below σ²/1000
    the reconstructors of the audit are too coarse to confirm them.
    """
    check_counts(points=points, trials=trials)
    targets = paper_targets(problem.max_distortion, first=FIRST, points=points)
    settings = TrainingSettings.paper(epochs=epochs)
    gathered = _Trials([[] for _ in targets], [[] for _ in targets], [[] for _ in targets])
    waiting = list(range(points))
    compiling = training = 0.0
    device = "none"
    for number in range(most_rounds):
        trained = train_gaussian(
            problem,
            aims=[targets[place] for place in waiting],
            trials=max(trials, 1),
            settings=settings,
            seed=seed + 1000 * number,
            sample_seed=seed,  # every trial of the paper learns from the same rows
            progress=None if progress is None else partial(progress, f"round {number + 1}"),
        )
        device = trained.device
        compiling, training = compiling + trained.compile_seconds, training + trained.train_seconds
        gathered.add(trained, waiting)
        chosen = gathered.points(targets, max(trials, 1))
        waiting = [place for place, point in enumerate(chosen) if point.accepted < max(trials, 1)]
        if not waiting:
            break
    began = time.perf_counter()
    made = []
    for place, point in enumerate(chosen):
        if progress is not None:
            progress("audit", place, points)
        if point.trial is not None and point.epoch is not None:
            source, position, trial = gathered.sources[place][point.trial]
            layers = tuple(source.weights_at(position, trial, point.epoch))
            made.append(_audited(problem, point, source, layers, rows, attackers, seed + 5000 + place))
    if not made:
        raise NotConvergedError("the paper's protocol accepted no trial at any distortion; train for more epochs")
    return Curve(
        kind="gaussian",
        points=tuple(made),
        device=device,
        seconds=Seconds(compile=compiling, train=training, audit=time.perf_counter() - began),
        seed=seed,
        capped=False,
        saturation_distortion=problem.max_distortion,
        saturation_losses=tuple(float(loss) for loss in problem.saturation_losses),
        private_mean=float(problem.mean[0]),
        private_std=problem.private_std,
    )


def _audited(
    problem: GaussianProblem,
    point: ProtocolPoint,
    source: Trained,
    layers: tuple[tuple[Floats, Floats], ...],
    rows: AuditRows | None,
    attackers: tuple[str, ...] | None,
    seed: int,
) -> CurvePoint:
    epsilon = EPSILON_SHARE * problem.private_std
    component = Learned(
        layers=layers,
        center=source.center,
        scale=source.scale,
        mean=float(problem.mean[0]),
        std=problem.private_std,
    )
    mixture = Mixture(components=(component,), weights=(1.0,))
    noise = proposition_1(problem, distortion=point.target)
    report = audit_mixture(
        problem,
        mixture,
        epsilon=epsilon,
        rows=rows,
        attackers=attackers,
        # normal errors of the smallest variance are pinned most
        reference_pinned_share=Erasure().pinned(noise.worst, epsilon),
        seed=seed,
    )
    at_own = proposition_1(problem, distortion=report.distortion.loss).worst
    claimed = min(point.adversary_losses)
    words = [f"paper, {point.accepted} accepted"]
    if report.strongest.interval[1] < 0.95 * claimed:
        words.append("adversary stronger than claimed")
    if report.distortion.interval[0] > 1.02 * point.target:
        words.append("distortion not confirmed")
    share = min(1.0, point.target / problem.max_distortion)
    return CurvePoint(
        target=point.target,
        distortion=report.distortion.loss,
        adversary_losses=tuple(party.loss for party in report.adversaries),
        worst=report.worst,
        theory=noise.worst,
        erasure=share * float(problem.saturation_losses.min()),
        ratio=report.worst / max(noise.worst, at_own),
        interval=report.strongest.interval,
        exposure=report.exposure,
        attacker=report.strongest.attacker,
        method=", ".join(words),
        drawn_distortion=report.distortion.drawn_loss,
        drawn_worst=report.strongest.drawn_loss,
        learned=claimed,
        mixture=mixture,
    )
