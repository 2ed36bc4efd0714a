"""The paper's binary experiment to the letter, and what an audit says of the points it would publish.

Distortions from D0 to D_max; 10,000 rows to train on and 2,000 to test; networks and rates of section V.B; rounds of
trials until fifteen are accepted at every distortion or patience ends. The release of the chosen trial at its chosen
epoch is a small table, so its exact figures are known: ``learned`` is what the protocol claims for it, the rest of
the point is what holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from aegis.candidates.sanitizers.curve import Curve, CurvePoint, check_counts
from aegis.candidates.sanitizers.finite import FiniteProblem, coded_sample, optimum
from aegis.candidates.sanitizers.finite_curve import audit_release
from aegis.candidates.sanitizers.training_settings import SymbolSettings
from aegis.errors import SanitizerError
from aegis.progress import Progress
from aegis_papers.minimax_protocol import ProtocolPoint, paper_targets, protocol_curve, verdict

if TYPE_CHECKING:
    from aegis.candidates.sanitizers.symbol_training import TrainedSymbols

FIRST = 0.0025  # the paper's D0


def binary_settings(*, epochs: int = 1000, steps_per_epoch: int = 50) -> SymbolSettings:
    """Section V.B to the letter: RAdam, η₀ = .01 × (5, 2, 1), γ = −.98, batches of 200, ρ = 1, 1,000 epochs."""
    return SymbolSettings(
        epochs=epochs,
        steps_per_epoch=steps_per_epoch,
        erasure_starts=False,
        rates=(0.05, 0.02, 0.01),
        rate_slope=-0.98,
        decay=False,
        optimizer="radam",
        penalty="symmetric",
        penalty_weight=1.0,
        substitution="probability",
    )


def paper_binary_curve(
    problem: FiniteProblem,
    *,
    points: int = 30,
    trials: int = 15,
    settings: SymbolSettings | None = None,
    most_rounds: int = 4,
    rows: int = 200_000,
    attackers: Sequence[str] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Curve:
    """The protocol's curve, audited; see `aegis_papers.minimax_protocol.protocol_curve`."""
    check_counts(points=points, trials=trials)
    if problem.prior.size != 2:
        raise SanitizerError("the paper's binary protocol needs a private column of two values")
    from aegis.candidates.sanitizers.symbol_training import train_symbols

    settings = settings or binary_settings()
    rng = np.random.default_rng(seed)
    sample, held_out = (coded_sample(problem, count, rng=rng) for count in (10_000, 2_000))

    def train(number: int, aims: Sequence[float], watch: Progress | None) -> TrainedSymbols:
        return train_symbols(
            sample,
            held_out,
            targets=aims,
            max_distortion=problem.max_distortion,
            trials=max(trials, 1),
            settings=settings,
            seed=seed + 1000 * number,
            progress=watch,
        )

    def audit(point: ProtocolPoint, run: TrainedSymbols, position: int, trial: int, seed: int) -> CurvePoint:
        assert point.epoch is not None
        release = run.releases[position, trial, point.epoch]
        report = audit_release(problem, release, rows=rows, attackers=attackers, seed=seed)
        theory = optimum(problem, distortion=point.target, symbols=2).worst
        at_own = optimum(problem, distortion=report.distortion.loss, symbols=2).worst
        return CurvePoint.audited(
            report,
            target=point.target,
            theory=theory,
            erasure=point.target / problem.max_distortion * float(problem.saturation_losses.min()),
            ratio=report.worst / max(theory, at_own),
            method=verdict(point, report),
            learned=min(point.adversary_losses),
            claimed_distortion=point.distortion,
            baselines={
                "program": theory,
                "any_alphabet": optimum(problem, distortion=point.target).worst,
                # where the release itself stands: what a perfect privatizer would have at its true distortion
                "at_own_distortion": at_own,
            },
            table=release,
        )

    return protocol_curve(
        problem,
        train,
        audit,
        kind="binary",
        targets=paper_targets(problem.max_distortion, first=min(FIRST, problem.max_distortion / 2), points=points),
        trials=trials,
        most_rounds=most_rounds,
        seed=seed,
        progress=progress,
    )
