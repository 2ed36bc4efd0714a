"""The paper's Gaussian experiment to the letter, and what an audit says of the points it would publish.

Distortions from D0 to Var[X|Y]; 10,000 rows to train on and 2,000 to test; rounds of trials until fifteen are accepted
at every distortion or patience ends. The chosen trial is taken at its chosen epoch and audited like any other release:
``learned`` is what the protocol claims for it, the rest of the point is what fresh attackers found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from aegis.candidates.sanitizers.components import Erasure, Learned
from aegis.candidates.sanitizers.curve import Curve, CurvePoint, check_counts
from aegis.candidates.sanitizers.gaussian import GaussianProblem, proposition_1
from aegis.candidates.sanitizers.gaussian_curve import EPSILON_SHARE, AuditRows, audit_mixture, train_gaussian
from aegis.candidates.sanitizers.mixtures import Mixture
from aegis.candidates.sanitizers.training_settings import TrainingSettings
from aegis.progress import Progress
from aegis_papers.minimax_protocol import ProtocolPoint, paper_targets, protocol_curve, verdict

if TYPE_CHECKING:
    from aegis.candidates.sanitizers.number_training import Trained

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
    """The protocol's curve, audited; see `aegis_papers.minimax_protocol.protocol_curve`.

    At distortions far below σ²/1000 the reconstructors of the audit are too coarse to confirm them.
    """
    check_counts(points=points, trials=trials)
    settings = gaussian_settings(epochs=epochs)

    def train(number: int, aims: Sequence[float], watch: Progress | None) -> Trained:
        return train_gaussian(
            problem,
            aims=aims,
            trials=max(trials, 1),
            settings=settings,
            seed=seed + 1000 * number,
            sample_seed=seed,  # every trial of the paper learns from the same rows
            progress=watch,
        )

    def audit(point: ProtocolPoint, run: Trained, position: int, trial: int, seed: int) -> CurvePoint:
        assert point.epoch is not None
        privatizer = Learned(
            layers=tuple(run.weights_at(position, trial, point.epoch)),
            center=run.center,
            scale=run.scale,
            mean=float(problem.mean[0]),
            std=problem.private_std,
        )
        mixture = Mixture(components=(privatizer,), weights=(1.0,))
        return _audited(problem, point, mixture, rows=rows, attackers=attackers, seed=seed)

    curve = protocol_curve(
        problem,
        train,
        audit,
        kind="gaussian",
        targets=paper_targets(problem.max_distortion, first=FIRST, points=points),
        trials=trials,
        most_rounds=most_rounds,
        seed=seed,
        progress=progress,
    )
    return replace(curve, private_mean=float(problem.mean[0]), private_std=problem.private_std)


def _audited(
    problem: GaussianProblem,
    point: ProtocolPoint,
    mixture: Mixture,
    *,
    rows: AuditRows | None,
    attackers: tuple[str, ...] | None,
    seed: int,
) -> CurvePoint:
    epsilon = EPSILON_SHARE * problem.private_std
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
    share = min(1.0, point.target / problem.max_distortion)
    return CurvePoint.audited(
        report,
        target=point.target,
        theory=noise.worst,
        erasure=share * float(problem.saturation_losses.min()),
        ratio=report.worst / max(noise.worst, at_own),
        method=verdict(point, report),
        learned=min(point.adversary_losses),
        claimed_distortion=point.distortion,
        mixture=mixture,
    )
