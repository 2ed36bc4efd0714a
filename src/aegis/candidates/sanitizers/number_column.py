"""A mechanism for a column of numbers without caps on posteriors: a mixture of plain releases, tried on the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from aegis.arrays import Floats
from aegis.candidates.sanitizers.audit import AuditReport
from aegis.candidates.sanitizers.audited_column import AuthorizedGroup, Fitted, Party
from aegis.candidates.sanitizers.components import Erasure, Noise
from aegis.candidates.sanitizers.encoding import Encoder
from aegis.candidates.sanitizers.mechanism import NumberMechanism
from aegis.candidates.sanitizers.mixtures import Mixture
from aegis.candidates.sanitizers.number_fitting import noise_of, number_shelf, propose, shown
from aegis.candidates.sanitizers.posterior import EPSILON_SHARES, Belief, Certainty, fit_number_belief
from aegis.candidates.sanitizers.split import (
    CERTAIN_CAP,
    MEASURED_ROWS,
    Split,
    crossed_guesses,
    protections,
    refuse_certain,
    too_certain,
)
from aegis.errors import SanitizerError

Family = Literal["capped", "noise"]
_SLACK = 0.02  # a measured share this far above that of noise breaks the cap


def fit_number(x: Floats, split: Split, encoders: Sequence[Encoder], family: Family) -> Fitted:
    """The mechanism, measured and audited."""
    half, rng = split.half, split.rng
    variances = [residual_variance(side, x) for side in split.sides[1:]]
    beliefs = [
        fit_number_belief(side[:half], x[:half], column=x, quick=split.quick, coarse=number == 0)
        for number, side in enumerate(split.sides)
    ]
    silence = NumberMechanism(column=split.column, mixture=Mixture(components=(Erasure(),), weights=(1.0,)))
    blank = shown(silence.mixture, x, rng)
    before = split.known_channel(silence, blank, x, beliefs)
    left = split.losses(beliefs[0], silence, blank, x, split.tuned)
    mechanism, release = silence, blank
    shelf = None
    if split.needs_release(left):
        shelf = number_shelf(x[:half], [side[:half] for side in split.sides], beliefs, rng=rng)
        aim = min(split.distortions[0], float(shelf.distortions[0]))
        for _ in range(6):
            mixture = propose(shelf, distortion=aim, certain_cap=CERTAIN_CAP, noise_only=family == "noise")
            mechanism = NumberMechanism(column=split.column, mixture=mixture)
            release = shown(mixture, x, rng)
            changed = split.spent(split.losses(beliefs[0], mechanism, release, x, split.tuned), aim)
            if changed is None:
                break
            aim = changed
    reconstruction = split.reconstruction(beliefs[0], mechanism, release, x)
    after = split.known_channel(mechanism, release, x, beliefs)
    noise: list[Certainty] | None = None
    if shelf is not None:
        noise = _equal_noise(x, split, beliefs, reconstruction.loss, shelf.noise_std(aim))
        more_pinned = any(
            mine > theirs + _SLACK
            for shown, noisy in zip(after, noise, strict=True)
            for mine, theirs in zip(shown.pinned, noisy.pinned, strict=True)
        )
        if family == "capped" and (more_pinned or too_certain(before, after, codes=None) is not None):
            # the cap was set on other rows; where these break it, noise takes over
            return fit_number(x, split, encoders, "noise")
        refuse_certain(split.column, before, after, codes=None)
    report = with_known_channel(split.audited(mechanism, release, x, beliefs), after, noise)
    return Fitted(
        column=split.column,
        mechanism=mechanism,
        audit=report,
        groups=(
            AuthorizedGroup(
                distortion=split.distortions[0], max_distortion=float(left.mean()), reconstruction=reconstruction
            ),
        ),
        saturation_losses=tuple(variances),
        method="silence" if shelf is None else f"mixture ({family})",
        loss="squared",
        protection=protections(before, after, noise),
        authorized=(Party(encoder=encoders[0], belief=beliefs[0]),),
        adversaries=tuple(
            Party(encoder=encoder, belief=belief) for encoder, belief in zip(encoders[1:], beliefs[1:], strict=True)
        ),
    )


def with_known_channel(
    report: AuditReport, after: Sequence[Certainty], noise: Sequence[Certainty] | None
) -> AuditReport:
    """The report with the share that the known channel pins, where that is more, and the same of equal noise."""
    place = EPSILON_SHARES.index(0.1)
    share = max(report.exposure.pinned_share, *(certainty.pinned[place] for certainty in after))
    reference = None if noise is None else max(certainty.pinned[place] for certainty in noise)
    return replace(report, exposure=replace(report.exposure, pinned_share=share, reference_pinned_share=reference))


def _equal_noise(
    x: Floats, split: Split, beliefs: Sequence[Belief], distortion: float, guess: float
) -> list[Certainty]:
    """Plain noise whose reconstructor errs as much as that of the release, measured on the same rows."""
    drawn_from = int(split.rng.integers(2**31))
    start = split.measured.start
    rows = slice(start, start + MEASURED_ROWS // 2)

    def of(std: float) -> tuple[NumberMechanism, Floats]:
        mixture = Mixture(components=(Noise(std=std),), weights=(1.0,))
        release = shown(mixture, x, np.random.default_rng(drawn_from))
        return NumberMechanism(column=split.column, mixture=mixture), release

    # a ladder around the first guess; the distortion is measured on each rung and read off between them
    stds = guess * np.array([0.5, 0.8, 1.0, 1.25, 2.0])
    measured = np.array([float(split.losses(beliefs[0], *of(float(std)), x, rows).mean()) for std in stds])
    std = noise_of(stds, measured, distortion=max(distortion, float(measured[0])))
    return split.known_channel(*of(std), x, beliefs)


def residual_variance(side: Floats, x: Floats) -> float:
    """What side information leaves of the variance of X."""
    left = float(((x - crossed_guesses(side, x, "number")) ** 2).mean())
    if left < 1e-6 * x.var():
        raise SanitizerError("side information determines the private column; leave the column that repeats it out")
    return min(left, float(x.var()))
