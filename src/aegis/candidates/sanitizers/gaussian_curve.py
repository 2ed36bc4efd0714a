"""The trade-off curve of a Gaussian problem: closed forms, trained privatizers, their best mixture, and its audit."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from aegis.candidates.sanitizers.audit import AuditReport, verify
from aegis.candidates.sanitizers.components import Erasure, Modulo, Noise
from aegis.candidates.sanitizers.curve import Curve, CurvePoint, Seconds, check_counts, targets
from aegis.candidates.sanitizers.gaussian import GaussianProblem, proposition_1
from aegis.candidates.sanitizers.gaussian_audit import AuditRows, audit_mixture
from aegis.candidates.sanitizers.gaussian_training import EPSILON_SHARE, measured_library, train_gaussian
from aegis.candidates.sanitizers.learned import Learned
from aegis.candidates.sanitizers.mixtures import (
    Library,
    Mixture,
    MixtureOptimum,
    best_mixture,
    erasure_losses,
    library,
    plain_noise,
)
from aegis.candidates.sanitizers.training_settings import TrainingSettings
from aegis.errors import VerificationError

Progress = Callable[[str, int, int], None]


def gaussian_curve(
    problem: GaussianProblem,
    *,
    points: int = 30,
    trials: int = 15,
    exposure_capped: bool = False,
    settings: TrainingSettings | None = None,
    attackers: Sequence[str] | None = None,
    rows: AuditRows | None = None,
    seed: int = 0,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
) -> Curve:
    """The audited curve at D_max·i/points.

    With ``trials`` = 0 nothing is trained and the closed forms stand alone (no JAX needed unless a network attacks).
    ``exposure_capped`` allows no adversary to pin more records than under the plain noise of the same distortion.
    ``checkpoint`` is where the training keeps its state, and what it goes on from.
    """
    check_counts(points=points, trials=trials)
    rows = rows or AuditRows()
    aims = targets(problem.max_distortion, points)
    epsilon = EPSILON_SHARE * problem.private_std
    shelf = library(
        authorized_variance=problem.max_distortion,
        adversary_variances=tuple(problem.saturation_losses),
        epsilon=epsilon,
    )
    caps = [plain_noise(shelf, distortion=aim).pinned_shares for aim in aims]
    device, compiling, training, learned = "none", 0.0, 0.0, None
    if trials > 0:
        trained = train_gaussian(
            problem,
            aims=aims,
            trials=trials,
            settings=settings,
            caps=caps if exposure_capped else None,
            seed=seed,
            checkpoint=checkpoint,
            progress=None if progress is None else partial(progress, "training"),
        )
        device, compiling, training = trained.device, trained.compile_seconds, trained.train_seconds
        learned = measured_library(problem, trained, epsilon=epsilon, seed=seed, with_exposure=exposure_capped)
    modulo = library(
        authorized_variance=problem.max_distortion,
        adversary_variances=tuple(problem.saturation_losses),
        epsilon=epsilon,
        family="modulo",
    )
    began = time.perf_counter()
    made = []
    for number, aim in enumerate(aims):
        if progress is not None:
            progress("audit", number, points)
        cap = caps[number] if exposure_capped else None
        best, report = _audited(problem, shelf, learned, aim, cap, rows, attackers, seed + 1000 + number, epsilon)
        alone = None if learned is None else _learned_alone(learned, aim, cap)
        made.append(_point(problem, aim, best, report, shelf, modulo, caps[number], alone))
    return Curve(
        kind="gaussian",
        points=tuple(made),
        device=device,
        seconds=Seconds(compile=compiling, train=training, audit=time.perf_counter() - began),
        seed=seed,
        capped=exposure_capped,
        saturation_distortion=problem.max_distortion,
        saturation_losses=tuple(float(loss) for loss in problem.saturation_losses),
        private_mean=float(problem.mean[0]),
        private_std=problem.private_std,
    )


def _audited(
    problem: GaussianProblem,
    shelf: Library,
    learned: Library | None,
    aim: float,
    caps: Sequence[float] | None,
    rows: AuditRows,
    attackers: Sequence[str] | None,
    seed: int,
    epsilon: float,
) -> tuple[MixtureOptimum, AuditReport]:
    """The best mixture that survives its audit; a learned one that does not gives way to the closed forms."""
    reference = max(plain_noise(shelf, distortion=aim).pinned_shares)
    candidates = [best_mixture(shelf, distortion=aim, caps=caps)]
    if learned is not None:
        both = best_mixture(_joined(shelf, learned), distortion=aim, caps=caps)
        # a gain below one percent is within what measuring the components can miss
        if both.worst > 1.01 * candidates[0].worst:
            candidates.insert(0, both)
    for last, candidate in ((c is candidates[-1], c) for c in candidates):
        report = audit_mixture(
            problem,
            candidate.mixture,
            epsilon=epsilon,
            rows=rows,
            attackers=attackers,
            reference_pinned_share=reference,
            seed=seed,
        )
        try:
            verify(report, distortion=aim, adversary_losses=candidate.adversary_losses)
        except VerificationError:
            if last:
                raise
        else:
            return candidate, report
    raise AssertionError("unreachable: the last candidate returns or raises")


def _learned_alone(learned: Library, aim: float, caps: Sequence[float] | None) -> MixtureOptimum:
    """What learned components reach by themselves, time-shared with silence and disclosure."""
    return best_mixture(learned, distortion=aim, caps=caps)


def _joined(first: Library, second: Library) -> Library:
    return replace(
        first,
        components=first.components + second.components,
        distortions=np.concatenate([first.distortions, second.distortions]),
        losses=np.concatenate([first.losses, second.losses]),
        pinned=np.concatenate([first.pinned, second.pinned]),
    )


def _point(
    problem: GaussianProblem,
    aim: float,
    best: MixtureOptimum,
    report: AuditReport,
    shelf: Library,
    modulo: Library,
    reference: Sequence[float],
    learned: MixtureOptimum | None,
) -> CurvePoint:
    theory = proposition_1(problem, distortion=aim).worst
    at_own = proposition_1(problem, distortion=report.distortion.loss).worst
    return CurvePoint(
        target=aim,
        distortion=report.distortion.loss,
        adversary_losses=tuple(party.loss for party in report.adversaries),
        worst=report.worst,
        theory=theory,
        erasure=min(erasure_losses(shelf, distortion=aim)),
        ratio=report.worst / max(theory, at_own),
        interval=report.strongest.interval,
        exposure=report.exposure,
        attacker=report.strongest.attacker,
        method=method_of(best.mixture),
        drawn_distortion=report.distortion.drawn_loss,
        drawn_worst=report.strongest.drawn_loss,
        learned=None if learned is None else learned.worst,
        baselines={
            "modulo": best_mixture(modulo, distortion=aim).worst,
            "capped": best_mixture(shelf, distortion=aim, caps=reference).worst,
        },
        mixture=best.mixture,
        learned_mixture=None if learned is None else learned.mixture,
    )


def method_of(mixture: Mixture) -> str:
    """The kinds of component a mixture uses in earnest, largest share first."""
    names = {Erasure: "erasure", Noise: "noise", Modulo: "modulo", Learned: "learned"}
    shares: dict[str, float] = {}
    for component, weight in zip(mixture.components, mixture.weights, strict=True):
        name = names.get(type(component), "other")
        shares[name] = shares.get(name, 0.0) + weight
    return "+".join(sorted((n for n in shares if shares[n] > 0.01), key=lambda n: -shares[n]))
