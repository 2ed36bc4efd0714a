"""A mechanism for a column of numbers without caps on posteriors: a mixture of plain releases, tried on the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from aegis.arrays import Floats
from aegis.candidates.sanitizers import attackers
from aegis.candidates.sanitizers.audit import AuditReport
from aegis.candidates.sanitizers.audited_column import AuthorizedGroup, Fitted, Party, protections
from aegis.candidates.sanitizers.components import Erasure, Noise
from aegis.candidates.sanitizers.determined import CERTAIN_CAP, MEASURED_ROWS, refuse_certain, too_certain
from aegis.candidates.sanitizers.encoding import Encoder
from aegis.candidates.sanitizers.evaluator import Drawn, Evaluator
from aegis.candidates.sanitizers.measured_components import measured_components, noise_of, propose, shown
from aegis.candidates.sanitizers.mechanism import NumberMechanism
from aegis.candidates.sanitizers.mixtures import Mixture
from aegis.candidates.sanitizers.posterior import EPSILON_SHARES, Certainty
from aegis.candidates.sanitizers.split import Split
from aegis.errors import SanitizerError

Family = Literal["capped", "noise"]
_SLACK = 0.02  # a measured share this far above that of noise breaks the cap


def fit_number(x: Floats, split: Split, encoders: Sequence[Encoder], family: Family) -> Fitted:
    """The mechanism, measured and audited."""
    half, rng = split.half, split.rng
    variances = [residual_variance(side, x) for side in split.sides[1:]]
    evaluator = Evaluator.of_number(split, x)
    silence = drawn = _drawn(Mixture(components=(Erasure(),), weights=(1.0,)), evaluator, rng)
    before = evaluator.certainties(silence)
    left = evaluator.tuning_losses(silence)[0]
    components = None
    if split.needs_release(left):
        components = measured_components(x[:half], [side[:half] for side in split.sides], evaluator.beliefs, rng=rng)
        aim = min(split.distortions[0], float(components.distortions[0]))
        for _ in range(6):
            mixture = propose(components, distortion=aim, certain_cap=CERTAIN_CAP, noise_only=family == "noise")
            drawn = _drawn(mixture, evaluator, rng)
            changed = split.spent(evaluator.tuning_losses(drawn)[0], aim)
            if changed is None:
                break
            aim = changed
    (reconstruction,) = evaluator.reconstructions(drawn)
    after = evaluator.certainties(drawn)
    noise: list[Certainty] | None = None
    if components is not None:
        noise = _equal_noise(evaluator, reconstruction.loss, components.noise_std(aim))
        more_pinned = any(
            pinned > pinned_by_noise + _SLACK
            for released, noisy in zip(after, noise, strict=True)
            for pinned, pinned_by_noise in zip(released.pinned, noisy.pinned, strict=True)
        )
        if family == "capped" and (more_pinned or too_certain(before, after, codes=None) is not None):
            # the cap was set on other rows; where these break it, noise takes over
            return fit_number(x, split, encoders, "noise")
        refuse_certain(split.column, before, after, codes=None)
    authorized, *adversaries = map(Party, encoders, evaluator.beliefs)
    return Fitted(
        column=split.column,
        mechanism=drawn.mechanism,
        audit=with_known_channel(evaluator.audited(drawn), after, noise),
        groups=(
            AuthorizedGroup(
                distortion=split.distortions[0], max_distortion=float(left.mean()), reconstruction=reconstruction
            ),
        ),
        saturation_losses=tuple(variances),
        method="silence" if components is None else f"mixture ({family})",
        loss="squared",
        protection=protections(before, after, noise),
        authorized=(authorized,),
        adversaries=tuple(adversaries),
    )


def _drawn(mixture: Mixture, evaluator: Evaluator, rng: np.random.Generator) -> Drawn:
    mechanism = NumberMechanism(column=evaluator.split.column, mixture=mixture)
    return Drawn(mechanism, shown(mixture, evaluator.truth, rng))


def with_known_channel(
    report: AuditReport, after: Sequence[Certainty], noise: Sequence[Certainty] | None = None
) -> AuditReport:
    """The report with the share that the known channel pins, where that is more, and the same of equal noise."""
    place = EPSILON_SHARES.index(0.1)
    share = max(report.exposure.pinned_share, *(certainty.pinned[place] for certainty in after))
    reference = None if noise is None else max(certainty.pinned[place] for certainty in noise)
    return replace(report, exposure=replace(report.exposure, pinned_share=share, reference_pinned_share=reference))


def _equal_noise(evaluator: Evaluator, distortion: float, guess: float) -> list[Certainty]:
    """Plain noise whose reconstructor errs as much as that of the release, measured on the same rows."""
    seed = int(evaluator.split.rng.integers(2**31))
    start = evaluator.split.measured.start
    rows = slice(start, start + MEASURED_ROWS // 2)

    def of(std: float) -> Drawn:
        mixture = Mixture(components=(Noise(std=std),), weights=(1.0,))
        return _drawn(mixture, evaluator, np.random.default_rng(seed))

    # a ladder around the first guess; the distortion is measured on each rung and read off between them
    stds = guess * np.array([0.5, 0.8, 1.0, 1.25, 2.0])
    measured = np.array([float(evaluator.losses(of(float(std)), rows).mean()) for std in stds])
    std = noise_of(stds, measured, distortion=max(distortion, float(measured[0])))
    return evaluator.certainties(of(std))


def residual_variance(side: Floats, x: Floats) -> float:
    """What side information leaves of the variance of X."""
    left = float(((x - _crossed_guesses(side, x)) ** 2).mean())
    if left < 1e-6 * x.var():
        raise SanitizerError("side information determines the private column; leave the column that repeats it out")
    return min(left, float(x.var()))


def _crossed_guesses(features: Floats, x: Floats) -> Floats:
    """Guesses of X from side information alone, each by a model of the other half of the rows."""
    half = len(x) // 2
    guesses = np.empty(len(x))
    learn = attackers.fit_trees if "trees" in attackers.available() else attackers.fit_neighbours
    for train, test in ((slice(0, half), slice(half, None)), (slice(half, None), slice(0, half))):
        guesses[test] = learn(features[train][:20_000], x[train][:20_000], "number")(features[test])
    return guesses
