"""A mechanism for a column of numbers without caps on posteriors: a mixture of plain releases, tried on the table.

It is measured on the table itself and not under a law that the table may not have. Every component of the library is
tried on rows of the table: what the authorised party's reconstructor makes of it, and what the exact posterior of each
adversary does. Publishing which component was drawn makes all of that linear in the weights, so the best mixture is a
linear program: the largest error of the adversary that does best, within the distortion, with no more records pinned,
at several widths, than noise of the same measured distortion pins, and next to no record determined. No component is
narrower than a fiftieth of a standard deviation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from aegis.arrays import Floats
from aegis.candidates.sanitizers import attackers
from aegis.candidates.sanitizers.attackers import View, with_flags
from aegis.candidates.sanitizers.audit import AuditReport
from aegis.candidates.sanitizers.audited_column import (
    CERTAIN_CAP,
    MEASURED_ROWS,
    AuthorizedGroup,
    Fitted,
    Party,
    protections,
    refuse_certain,
    too_certain,
)
from aegis.candidates.sanitizers.components import Component, Erasure, Modulo, Noise
from aegis.candidates.sanitizers.encoding import Encoder
from aegis.candidates.sanitizers.evaluator import Drawn, Evaluator, Split
from aegis.candidates.sanitizers.mechanism import NumberMechanism
from aegis.candidates.sanitizers.mixtures import Mixture, best_weights
from aegis.candidates.sanitizers.posterior import EPSILON_SHARES, Belief, Certainty, certainty
from aegis.errors import SanitizerError

FLOOR_SHARE = 0.02  # of a standard deviation: nothing on a table is narrower
_TRIED_ROWS, _TRIED_VALUES = 1_000, 500
Family = Literal["capped", "noise"]
_SLACK = 0.02  # a measured share this far above that of noise breaks the cap


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MeasuredComponents:
    """Components with their figures on rows of the table; columns are adversaries, or (adversary, width)."""

    components: tuple[Component, ...]
    distortions: Floats
    losses: Floats
    pinned: Floats
    certain: Floats
    silent_certain: Floats  # of each adversary where nothing is released
    measure: Callable[[Component], tuple[float, Floats, Floats, Floats]]

    def noise_std(self, distortion: float) -> float:
        """The standard deviation of the noise whose measured distortion is the one asked for."""
        tried = [(c.std, d) for c, d in zip(self.components, self.distortions, strict=True) if isinstance(c, Noise)]
        stds, distortions = np.array(tried).T
        return noise_of(stds, distortions, distortion=distortion)

    def with_component(self, component: Component) -> MeasuredComponents:
        """The same and one component more."""
        distortion, losses, pinned, certain = self.measure(component)
        return replace(
            self,
            components=(*self.components, component),
            distortions=np.append(self.distortions, distortion),
            losses=np.vstack([self.losses, losses]),
            pinned=np.vstack([self.pinned, pinned]),
            certain=np.vstack([self.certain, certain]),
        )


def measured_components(
    x: Floats, sides: Sequence[Floats], beliefs: Sequence[Belief], *, rng: np.random.Generator
) -> MeasuredComponents:
    """All components tried on rows of the table; the first party is the authorised one, the others are adversaries."""
    spread = float(x.std())
    floor = FLOOR_SHARE * spread
    rows = rng.permutation(len(x))[:_TRIED_ROWS]
    drawn_from = int(rng.integers(2**31))
    epsilons = [share * spread for share in EPSILON_SHARES]
    parties = [(belief.thinned(_TRIED_VALUES), side[rows]) for belief, side in zip(beliefs, sides, strict=True)]

    def measure(component: Component) -> tuple[float, Floats, Floats, Floats]:
        mechanism = NumberMechanism(column="", mixture=Mixture(components=(component,), weights=(1.0,)))
        # the same draws for every component: their differences are then those of the components
        release = shown(mechanism.mixture, x[rows], np.random.default_rng(drawn_from))
        belief, side = parties[0]
        errors = x[rows] - belief.guess(mechanism, View(release=release, side=side))
        certainties = [
            certainty(belief, mechanism, View(release=release, side=side), x[rows], epsilons=epsilons)
            for belief, side in parties[1:]
        ]
        return (
            float((errors**2).mean()),
            np.array([party_certainty.loss for party_certainty in certainties]),
            np.array([share for party_certainty in certainties for share in party_certainty.pinned]),
            np.array([party_certainty.certain for party_certainty in certainties]),
        )

    left = measure(Erasure())
    reach = math.sqrt(left[0])
    components: list[Component] = [Erasure()]
    components += [Noise(std=float(std)) for std in np.geomspace(floor, 4 * spread, 14)]
    for period in reach * np.geomspace(1.2, 7.0, 5):
        components += [
            Modulo(period=float(period), blur=float(share * period))
            for share in (0.15, 0.3, 0.5, 0.8)
            if share * period >= 2 * floor
        ]
    components += [Modulo(period=math.inf, blur=float(b)) for b in np.geomspace(4 * floor, 8 * spread, 8)]
    figures = [left, *(measure(component) for component in components[1:])]
    return MeasuredComponents(
        components=tuple(components),
        distortions=np.array([f[0] for f in figures]),
        losses=np.array([f[1] for f in figures]),
        pinned=np.array([f[2] for f in figures]),
        certain=np.array([f[3] for f in figures]),
        silent_certain=left[3],
        measure=measure,
    )


def noise_of(stds: Floats, distortions: Floats, *, distortion: float) -> float:
    """The standard deviation at which measured distortions reach the one asked for, between those that were tried.

    >>> round(noise_of(np.array([1.0, 4.0]), np.array([1.0, 16.0]), distortion=4.0), 6)
    2.0
    """
    rising = np.maximum.accumulate(np.maximum(distortions, 1e-300))
    if distortion < rising[0]:
        raise SanitizerError(
            f"a distortion of {distortion:.4g} is so small that only the values themselves would keep it; allow at "
            f"least {rising[0]:.4g}"
        )
    return float(np.exp(np.interp(math.log(distortion), np.log(rising), np.log(stds))))


def propose(components: MeasuredComponents, *, distortion: float, certain_cap: float, noise_only: bool) -> Mixture:
    """The best mixture within ``distortion`` under the caps that noise of the same measured distortion sets."""
    noise = Noise(std=components.noise_std(distortion))
    if noise_only:
        return Mixture(components=(noise,), weights=(1.0,))
    whole = components.with_component(noise)
    count, adversaries = whole.losses.shape
    rows = [np.append(whole.distortions, 0.0)]
    limits = [distortion]
    for i in range(adversaries):
        rows.append(np.append(-whole.losses[:, i], 1.0))
        limits.append(0.0)
        rows.append(np.append(whole.certain[:, i], 0.0))
        limits.append(max(certain_cap, float(whole.silent_certain[i]), float(whole.certain[-1, i])))
    for column, limit in zip(whole.pinned.T, whole.pinned[-1], strict=True):
        rows.append(np.append(column, 0.0))
        limits.append(float(limit))
    solution = best_weights(np.append(np.zeros(count), -1.0), rows, limits)
    if not solution.success:  # noise alone satisfies every row, so rounding is all that can be in the way
        return Mixture(components=(noise,), weights=(1.0,))
    weights = np.where(solution.x[:-1] > 1e-3, solution.x[:-1], 0.0)
    used = np.flatnonzero(weights)
    weights = weights[used] / weights[used].sum()
    return Mixture(
        components=tuple(whole.components[i] for i in used), weights=tuple(float(weight) for weight in weights)
    )


def shown(mixture: Mixture, x: Floats, rng: np.random.Generator) -> Floats:
    """The release as numbers: the value, then which component gave it."""
    released = mixture.release(x, rng=rng)
    return with_flags(released.value, released.component, len(mixture.weights))


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
