"""The trade-off curve of a finite problem: the programs' optima, learned releases, and the audit of the learned one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.candidates.sanitizers.attackers import View
from aegis.candidates.sanitizers.audit import AuditReport, Evidence, audit, verify
from aegis.candidates.sanitizers.curve import Curve, CurvePoint, check_counts, targets
from aegis.candidates.sanitizers.finite import FiniteProblem, draw, optimum, release_loss
from aegis.candidates.sanitizers.mechanism import draw_symbols
from aegis.candidates.sanitizers.training_settings import SymbolSettings
from aegis.errors import SanitizerError
from aegis.progress import Progress

_DOUBT = 0.05  # an adversary that believes a value with all but this has pinned the record


def finite_curve(
    problem: FiniteProblem,
    *,
    points: int = 30,
    trials: int = 15,
    symbols: int | None = 2,
    networks: SymbolSettings | None = None,
    rows: int = 200_000,
    attackers: Sequence[str] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Curve:
    """The audited curve at D_max·i/points of a release with ``symbols`` symbols (None: as many as help).

    ``theory`` is Proposition 2, the best release with two symbols; ``baselines`` also holds the best with the curve's
    own number of symbols and with any number. With ``trials`` = 0 the program's release is audited itself.
    ``networks`` has networks learn from rows, by these settings, instead of gradients of the known law.
    """
    check_counts(points=points, trials=trials)
    if np.abs(problem.distortion_cost - (1 - np.eye(*problem.distortion_cost.shape))).max() > 0:
        raise SanitizerError(
            "the curve of a finite problem is audited with 0–1 costs; solve other costs with 'optimum'"
        )
    aims = targets(problem.max_distortion, points)
    programs = [optimum(problem, distortion=aim, symbols=symbols) for aim in aims]
    trained = None
    releases = [program.release for program in programs]
    learned: list[float | None] = [None] * points
    if trials > 0:
        from aegis.candidates.sanitizers.finite_training import train_finite, train_finite_from_rows

        width = symbols or max(2, max(release.shape[1] for release in releases))
        if networks is None:
            trained = train_finite(problem, targets=aims, symbols=width, trials=trials, seed=seed)
        else:
            trained = train_finite_from_rows(
                problem, targets=aims, symbols=width, trials=trials, settings=networks, seed=seed, progress=progress
            )
        releases = [trained.best(point) for point in range(points)]
        learned = [float(problem.losses_of(release).min()) for release in releases]
    began = time.perf_counter()
    audited = []
    for number, (aim, release) in enumerate(zip(aims, releases, strict=True)):
        if progress is not None:
            progress(number, points, "audit")
        report = audit_release(problem, release, rows=rows, attackers=attackers, seed=seed + 1000 + number)
        verify(report, distortion=aim, adversary_losses=problem.losses_of(release).tolist())
        theory = optimum(problem, distortion=aim, symbols=2).worst
        audited.append(
            CurvePoint.audited(
                report,
                target=aim,
                theory=theory,
                erasure=aim / problem.max_distortion * float(problem.saturation_losses.min()),
                ratio=report.worst / theory,
                method=("program" if trials == 0 else "learned" if networks is None else "learned from rows"),
                learned=learned[number],
                baselines={"program": programs[number].worst, "any_alphabet": optimum(problem, distortion=aim).worst},
                table=release,
            )
        )
    return Curve.of(
        problem,
        audited,
        kind="binary" if problem.prior.size == 2 else "finite",
        training=trained,
        audit_seconds=time.perf_counter() - began,
        seed=seed,
    )


def audit_release(
    problem: FiniteProblem, release: Floats, *, rows: int, attackers: Sequence[str] | None = None, seed: int = 0
) -> AuditReport:
    """Attack a finite release on fresh draws, with the exact attack among the attackers."""
    rng = np.random.default_rng(seed)
    x, y, zs = draw(problem, rows, rng=rng)
    f = draw_symbols(release, x, rng)

    def evidence(side: Ints, channel: Floats, cost: Floats) -> Evidence:
        joint = np.einsum("x,xf,xs->xfs", problem.prior, release, channel)
        rule = np.einsum("xg,xfs->gfs", cost, joint).argmin(axis=0)

        def exact(view: View) -> Floats:
            return np.asarray(rule[view.release[:, 0].astype(np.int64), view.side.argmax(axis=1)], dtype=np.float64)

        one_hot = np.eye(channel.shape[1])[side]
        return Evidence(
            view=View(release=f[:, None].astype(np.float64), side=one_hot),
            exact=exact,
            exact_loss=release_loss(problem.prior, release, channel, cost),
        )

    report = audit(
        x.astype(np.float64),
        evidence(y, problem.authorized, problem.distortion_cost),
        [evidence(z, channel, problem.loss_cost) for z, channel in zip(zs, problem.adversaries, strict=True)],
        kind="category",
        epsilon=0.5,
        names=attackers,
        fit_rows=min(20_000, rows // 4),
        compare_rows=min(20_000, rows // 4),
        seed=seed,
    )
    pinned = max(certain_share(problem, release, channel) for channel in problem.adversaries)
    return replace(report, exposure=replace(report.exposure, epsilon=_DOUBT, pinned_share=pinned))


def certain_share(problem: FiniteProblem, release: Floats, channel: Floats) -> float:
    """Share of records whose value the adversary names with a posterior of at least 95 %."""
    joint = np.einsum("x,xf,xs->xfs", problem.prior, release, channel)
    total = joint.sum(axis=0)
    best = joint.max(axis=0)
    return float(best[best >= (1 - _DOUBT) * total].sum())
