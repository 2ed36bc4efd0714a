"""The trade-off curve of a Gaussian problem: closed forms, trained privatizers, their best mixture, and its audit.

A mixture is audited on fresh draws of the law by fresh attackers, with the exact attack among them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aegis.arrays import Floats
from aegis.candidates.sanitizers.attackers import View, with_flags
from aegis.candidates.sanitizers.audit import AuditReport, Evidence, audit, verify
from aegis.candidates.sanitizers.components import Component, Erasure, Learned, Modulo, Noise
from aegis.candidates.sanitizers.curve import Curve, CurvePoint, check_counts, targets
from aegis.candidates.sanitizers.gaussian import GaussianProblem, proposition_1
from aegis.candidates.sanitizers.mixtures import (
    Library,
    Mixture,
    MixtureOptimum,
    Released,
    best_mixture,
    erasure_losses,
    plain_library,
    plain_noise,
)
from aegis.candidates.sanitizers.training_settings import Sample, TrainingSettings
from aegis.errors import VerificationError
from aegis.progress import Progress

if TYPE_CHECKING:
    from aegis.candidates.sanitizers.number_training import Trained


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
    progress: Progress | None = None,
) -> Trained:
    """Train privatizers for every target, on a sample of the problem's law."""
    from aegis.candidates.sanitizers.number_training import train

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
    scored = [(problem.score(samples, party), problem.conditional_variance(party)) for party in parties]
    components: list[Component] = [Erasure(), Noise(std=0.0)]
    figures = [[variance for _, variance in scored], [0.0] * len(scored)]
    pinned = [[Erasure().pinned(v, epsilon) for _, v in scored[1:]], [1.0] * len(problem.adversaries)]
    for point in range(len(trained.targets)):
        worst = trained.losses[point].min(axis=-1)
        reached = [proposition_1(problem, distortion=max(float(d), 1e-9)).worst for d in trained.distortion[point]]
        for trial in np.argsort(-worst / np.array(reached), kind="stable")[:_KEPT]:
            component = Learned(
                layers=tuple(trained.weights(point, int(trial))),
                center=trained.center,
                scale=trained.scale,
                mean=float(problem.mean[0]),
                std=problem.private_std,
            )
            released = component.release(x, rng)
            components.append(component)
            figures.append([float(((x - component.posterior_mean(released, s, v)) ** 2).mean()) for s, v in scored])
            pinned.append([component.pinned(v, epsilon) if with_exposure else 1.0 for _, v in scored[1:]])
    table = np.array(figures)
    return Library(
        components=tuple(components),
        authorized_variance=problem.max_distortion,
        adversary_variances=tuple(float(v) for _, v in scored[1:]),
        epsilon=epsilon,
        distortions=table[:, 0],
        losses=table[:, 1:],
        pinned=np.array(pinned),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRows:
    """How many fresh rows the audit draws for fitting attackers, comparing them and measuring the best."""

    fit: int = 40_000
    compare: int = 20_000
    measure: int = 1_000_000


def audit_mixture(
    problem: GaussianProblem,
    mixture: Mixture,
    *,
    epsilon: float,
    rows: AuditRows | None = None,
    attackers: Sequence[str] | None = None,
    reference_pinned_share: float | None = None,
    seed: int = 0,
) -> AuditReport:
    """Attack a mixture on fresh draws of the law, with the exact attack among the attackers."""
    rows = rows or AuditRows()
    rng = np.random.default_rng(seed)
    samples = problem.sample(rows.fit + rows.compare + rows.measure, rng=rng)
    released = mixture.release(samples[:, 0], rng=rng)
    shown = with_flags(released.value, released.component, len(mixture.weights))

    def evidence(party: tuple[int, ...]) -> Evidence:
        variance = problem.conditional_variance(party)
        columns = list(party)

        def exact(view: View) -> Floats:
            drawn = view.release[:, 1:].argmax(axis=1)
            wide = np.zeros((len(view.side), problem.mean.size))
            wide[:, columns] = view.side
            return mixture.posterior_mean(
                Released(component=drawn, value=view.release[:, 0]), problem.score(wide, party), variance
            )

        # the figures of plain components are integrals; those of learned ones have to be measured
        plain = not any(isinstance(component, Learned) for component in mixture.components)
        return Evidence(
            view=View(release=shown, side=samples[:, columns]),
            exact=exact,
            exact_loss=mixture.loss(variance) if plain else None,
        )

    report = audit(
        samples[:, 0],
        evidence(problem.authorized),
        [evidence(party) for party in problem.adversaries],
        epsilon=epsilon,
        names=attackers,
        fit_rows=rows.fit,
        compare_rows=rows.compare,
        pinned_share=max(mixture.pinned(float(v), epsilon) for v in problem.saturation_losses),
        seed=seed,
    )
    return replace(report, exposure=replace(report.exposure, reference_pinned_share=reference_pinned_share))


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
    closed_forms = plain_library(
        authorized_variance=problem.max_distortion,
        adversary_variances=tuple(problem.saturation_losses),
        epsilon=epsilon,
    )
    caps = [plain_noise(closed_forms, distortion=aim).pinned_shares for aim in aims]
    trained, learned = None, None
    if trials > 0:
        trained = train_gaussian(
            problem,
            aims=aims,
            trials=trials,
            settings=settings,
            caps=caps if exposure_capped else None,
            seed=seed,
            checkpoint=checkpoint,
            progress=progress,
        )
        learned = measured_library(problem, trained, epsilon=epsilon, seed=seed, with_exposure=exposure_capped)
    modulo = plain_library(
        authorized_variance=problem.max_distortion,
        adversary_variances=tuple(problem.saturation_losses),
        epsilon=epsilon,
        family="modulo",
    )
    began = time.perf_counter()
    audited = []
    for number, aim in enumerate(aims):
        if progress is not None:
            progress(number, points, "audit")
        cap = caps[number] if exposure_capped else None
        best, report = _audited(
            problem, closed_forms, learned, aim, cap, rows, attackers, seed + 1000 + number, epsilon
        )
        alone = None if learned is None else best_mixture(learned, distortion=aim, caps=cap)
        audited.append(_point(problem, aim, best, report, closed_forms, modulo, caps[number], alone))
    curve = Curve.of(
        problem,
        audited,
        kind="gaussian",
        training=trained,
        audit_seconds=time.perf_counter() - began,
        seed=seed,
        capped=exposure_capped,
    )
    return replace(curve, private_mean=float(problem.mean[0]), private_std=problem.private_std)


def _audited(
    problem: GaussianProblem,
    closed_forms: Library,
    learned: Library | None,
    aim: float,
    caps: Sequence[float] | None,
    rows: AuditRows,
    attackers: Sequence[str] | None,
    seed: int,
    epsilon: float,
) -> tuple[MixtureOptimum, AuditReport]:
    """The best mixture that survives its audit; a learned one that does not gives way to the closed forms."""
    reference = max(plain_noise(closed_forms, distortion=aim).pinned_shares)
    candidates = [best_mixture(closed_forms, distortion=aim, caps=caps)]
    if learned is not None:
        both = best_mixture(closed_forms.joined(learned), distortion=aim, caps=caps)
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


def _point(
    problem: GaussianProblem,
    aim: float,
    best: MixtureOptimum,
    report: AuditReport,
    closed_forms: Library,
    modulo: Library,
    reference: Sequence[float],
    learned: MixtureOptimum | None,
) -> CurvePoint:
    theory = proposition_1(problem, distortion=aim).worst
    at_own = proposition_1(problem, distortion=report.distortion.loss).worst
    return CurvePoint.audited(
        report,
        target=aim,
        theory=theory,
        erasure=min(erasure_losses(closed_forms, distortion=aim)),
        ratio=report.worst / max(theory, at_own),
        method=method_of(best.mixture),
        learned=None if learned is None else learned.worst,
        baselines={
            "modulo": best_mixture(modulo, distortion=aim).worst,
            "capped": best_mixture(closed_forms, distortion=aim, caps=reference).worst,
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
