"""The paper's Gaussian experiment to the letter, and what an audit says of the points it would publish.

Distortions from D0 to Var[X|Y]; 10,000 rows to train on and 2,000 to test; rounds of trials until fifteen are accepted
at every distortion or patience ends. The chosen trial is taken at its chosen epoch and audited like any other release:
``learned`` is what the protocol claims for it, the rest of the point is what fresh attackers found.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aegis.arrays import Floats
from aegis.candidates.sanitizers.audit import AuditReport
from aegis.candidates.sanitizers.components import Erasure
from aegis.candidates.sanitizers.curve import Curve, CurvePoint, Seconds, check_counts
from aegis.candidates.sanitizers.gaussian import GaussianProblem, proposition_1
from aegis.candidates.sanitizers.gaussian_curve import AuditRows, audit_mixture
from aegis.candidates.sanitizers.learned import EPSILON_SHARE, Learned, train_gaussian
from aegis.candidates.sanitizers.mixtures import Mixture
from aegis.candidates.sanitizers.training_settings import TrainingSettings
from aegis.errors import NotConvergedError
from aegis.progress import Progress
from aegis_papers.minimax_protocol import ProtocolPoint, in_round, in_rounds, paper_targets

if TYPE_CHECKING:
    from aegis.candidates.sanitizers.training import Trained

FIRST = 0.005  # the paper's D0


def gaussian_settings(*, epochs: int = 100) -> TrainingSettings:
    """Section V.A to the letter: one hidden layer of 50, Adam 1e-3, batches of 200, ρ = 1000, raw units."""
    return TrainingSettings(
        steps=50 * epochs,
        epochs=epochs,
        inner_steps=1,
        warmup_steps=0,
        batch_rows=200,
        hidden=50,
        player_hidden=50,
        learning_rate=1e-3,
        player_learning_rate=1e-3,
        decay=False,
        penalty="symmetric",
        penalty_weight=1000.0,
        erasure=False,
        standardize=False,
        starts=("random",),
        keep_epochs=True,
    )


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
    settings = gaussian_settings(epochs=epochs)

    def one_round(number: int, aims: Sequence[float]) -> Trained:
        return train_gaussian(
            problem,
            aims=aims,
            trials=max(trials, 1),
            settings=settings,
            seed=seed + 1000 * number,
            sample_seed=seed,  # every trial of the paper learns from the same rows
            progress=in_round(progress, number),
        )

    rounds = in_rounds(one_round, targets, wanted=max(trials, 1), most_rounds=most_rounds)
    began = time.perf_counter()
    made = []
    for place, point in enumerate(rounds.points):
        if progress is not None:
            progress(place, points, "audit")
        if point.trial is not None and point.epoch is not None:
            source, position, trial = rounds.sources[place][point.trial]
            layers = tuple(source.weights_at(position, trial, point.epoch))
            made.append(_audited(problem, point, source, layers, rows, attackers, seed + 5000 + place))
    if not made:
        raise NotConvergedError("the paper's protocol accepted no trial at any distortion; train for more epochs")
    return Curve(
        kind="gaussian",
        points=tuple(made),
        device=rounds.runs[-1].device,
        seconds=Seconds(compile=rounds.compile_seconds, train=rounds.train_seconds, audit=time.perf_counter() - began),
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
    share = min(1.0, point.target / problem.max_distortion)
    return CurvePoint.audited(
        report,
        target=point.target,
        theory=noise.worst,
        erasure=share * float(problem.saturation_losses.min()),
        ratio=report.worst / max(noise.worst, at_own),
        method=verdict(point, report),
        learned=claimed,
        claimed_distortion=point.distortion,
        mixture=mixture,
    )


def verdict(point: ProtocolPoint, report: AuditReport) -> str:
    """What the audit makes of a point of the protocol, in a few words."""
    words = [f"paper, {point.accepted} accepted"]
    if report.strongest.interval[1] < 0.95 * min(point.adversary_losses):
        words.append("adversary stronger than claimed")
    if report.distortion.interval[0] > 1.02 * point.target:
        words.append("distortion not confirmed")
    return ", ".join(words)
