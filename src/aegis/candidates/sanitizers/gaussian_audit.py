"""The audit of a mixture under a Gaussian law: fresh draws, fresh attackers, and the exact attack among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.sanitizers.attackers import View
from aegis.candidates.sanitizers.audit import AuditReport, Evidence, audit
from aegis.candidates.sanitizers.gaussian import GaussianProblem
from aegis.candidates.sanitizers.learned import Learned
from aegis.candidates.sanitizers.mixtures import Mixture, Released

Floats = NDArray[np.float64]
_FLAGS = 6


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
