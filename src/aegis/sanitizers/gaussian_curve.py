"""The trade-off curve of a Gaussian problem: closed forms, trained privatizers, their best mixture, and its audit."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from aegis.errors import VerificationError
from aegis.sanitizers.attackers import View
from aegis.sanitizers.audit import AuditReport, Evidence, audit, verify
from aegis.sanitizers.components import Component, Erasure, Modulo, Noise
from aegis.sanitizers.curve import Curve, CurvePoint, Seconds, check_counts, targets
from aegis.sanitizers.gaussian import GaussianProblem, proposition_1
from aegis.sanitizers.learned import Learned
from aegis.sanitizers.mixtures import (
    Library,
    Mixture,
    MixtureOptimum,
    Released,
    best_mixture,
    erasure_losses,
    library,
    plain_noise,
)

if TYPE_CHECKING:
    from aegis.sanitizers.training import Sample, Trained, TrainingSettings

Floats = NDArray[np.float64]
Progress = Callable[[str, int, int], None]
EPSILON_SHARE = 0.1  # records are "pinned" within this many standard deviations of X
_FLAGS = 6
_KEPT = 4  # trials of a point that are measured on the channel after training


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRows:
    """How many fresh rows the audit draws for fitting attackers, comparing them and measuring the best."""

    fit: int = 40_000
    compare: int = 20_000
    measure: int = 1_000_000


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
    progress: Progress | None = None,
) -> Curve:
    """The audited curve at D_max·i/points.

    With ``trials`` = 0 nothing is trained and the closed forms stand alone (no JAX needed unless a network attacks).
    ``exposure_capped`` allows no adversary to pin more records than under the plain noise of the same distortion.
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
            problem, aims=aims, trials=trials, settings=settings, caps=caps if exposure_capped else None, seed=seed
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
    )


def gaussian_sample(problem: GaussianProblem, rows: int, *, rng: np.random.Generator) -> Sample:
    """Draws of the problem as training takes them."""
    from aegis.sanitizers.training import Sample

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
) -> Trained:
    """Train privatizers for every target, on a sample of the problem's law."""
    from aegis.sanitizers.training import TrainingSettings, train

    rng = np.random.default_rng(seed)
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
    # always the same number of flags, so that the network attacker is compiled once for a whole curve
    flags = np.eye(max(_FLAGS, len(mixture.weights)))[released.component]
    shown = np.hstack([released.value[:, None], flags])

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

        return Evidence(view=View(release=shown, side=samples[:, columns]), exact=exact)

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


def _learned_alone(learned: Library, aim: float, caps: Sequence[float] | None) -> float:
    """The worst loss that learned components reach by themselves, time-shared with silence and disclosure."""
    return best_mixture(learned, distortion=aim, caps=caps).worst


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
    learned: float | None,
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
        learned=learned,
        baselines={
            "modulo": best_mixture(modulo, distortion=aim).worst,
            "capped": best_mixture(shelf, distortion=aim, caps=reference).worst,
        },
    )


def method_of(mixture: Mixture) -> str:
    """The kinds of component a mixture uses in earnest, largest share first."""
    names = {Erasure: "erasure", Noise: "noise", Modulo: "modulo", Learned: "learned"}
    shares: dict[str, float] = {}
    for component, weight in zip(mixture.components, mixture.weights, strict=True):
        name = names.get(type(component), "other")
        shares[name] = shares.get(name, 0.0) + weight
    return "+".join(sorted((n for n in shares if shares[n] > 0.01), key=lambda n: -shares[n]))
