"""The best mixture of plain releases at one distortion, as a linear program.

Publishing which component was drawn makes everything an average: distortion, each adversary's loss and each
adversary's pinned share are sums weighted by how often a component is drawn. So the best mixture of a library of
components is a linear program, and so is the best one under a cap on exposure. This is time-sharing, done in one go.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from scipy.optimize import OptimizeResult, linprog

from aegis.arrays import Floats, Ints
from aegis.candidates.sanitizers.components import Component, Erasure, Modulo, Noise
from aegis.errors import NotConvergedError, SanitizerError

Family = Literal["noise", "erasure", "modulo", "any"]
_PERIODS, _BLURS = 56, 28  # of the grid


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """A sanitized column: which component was drawn for each record, and what it released."""

    component: Ints
    value: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """Components with the probability of drawing each; the draw is published beside the value."""

    components: tuple[Component, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.components) != len(self.weights) or not self.components:
            raise SanitizerError("a mixture needs one weight for each of its components")
        if min(self.weights) < 0 or not math.isclose(sum(self.weights), 1.0, abs_tol=1e-9):
            raise SanitizerError("the weights of a mixture must be zero or more and add up to 1")

    def loss(self, variance: float) -> float:
        """Mean squared error of an observer whose side information leaves this variance."""
        return float(sum(w * c.loss(variance) for w, c in zip(self.weights, self.components, strict=True)))

    def pinned(self, variance: float, epsilon: float) -> float:
        """The largest share of records such an observer can place within ``epsilon``."""
        return float(sum(w * c.pinned(variance, epsilon) for w, c in zip(self.weights, self.components, strict=True)))

    def release(self, values: Floats, *, rng: np.random.Generator) -> Released:
        """Sanitize a column."""
        drawn = rng.choice(len(self.weights), size=values.size, p=np.array(self.weights) / sum(self.weights))
        released = np.zeros(values.size)
        for index, component in enumerate(self.components):
            chosen = drawn == index
            released[chosen] = component.release(values[chosen], rng)
        return Released(component=drawn.astype(np.int64), value=released)

    def likelihood(self, released: Released, values: Floats) -> Floats:
        """How likely each release (row) is for each private value (column), up to a factor per row."""
        table = np.empty((released.value.size, values.size))
        for index, component in enumerate(self.components):
            chosen = released.component == index
            table[chosen] = component.likelihood(released.value[chosen], values)
        return table

    def posterior_mean(self, released: Released, scores: Floats, variance: float) -> Floats:
        """The estimate of an observer that knows the mechanism and the law: nobody does better in the mean."""
        estimate = np.empty(released.value.size)
        for index, component in enumerate(self.components):
            chosen = released.component == index
            estimate[chosen] = component.posterior_mean(released.value[chosen], scores[chosen], variance)
        return estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureOptimum:
    """The best mixture found, with its exact figures under the Gaussian law."""

    mixture: Mixture
    distortion: float
    adversary_losses: tuple[float, ...]
    pinned_shares: tuple[float, ...]

    @property
    def worst(self) -> float:
        """The loss of the adversary that knows most."""
        return min(self.adversary_losses)


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """Components with their figures for one problem: rows are components, columns adversaries."""

    components: tuple[Component, ...]
    authorized_variance: float
    adversary_variances: tuple[float, ...]
    epsilon: float
    distortions: Floats
    losses: Floats
    pinned: Floats

    def of(self, components: Sequence[Component]) -> Library:
        """Other components for the same problem."""
        return _measured(components, self.authorized_variance, self.adversary_variances, self.epsilon)

    def joined(self, other: Library) -> Library:
        """The components of both."""
        return replace(
            self,
            components=self.components + other.components,
            distortions=np.concatenate([self.distortions, other.distortions]),
            losses=np.concatenate([self.losses, other.losses]),
            pinned=np.concatenate([self.pinned, other.pinned]),
        )


@lru_cache(maxsize=8)
def plain_library(
    *, authorized_variance: float, adversary_variances: tuple[float, ...], epsilon: float, family: Family = "any"
) -> Library:
    """Components on a grid of periods and blurs, measured once and used for every distortion and every run."""
    if not authorized_variance > 0 or not all(v > 0 for v in adversary_variances):
        raise SanitizerError(
            "side information that determines the private column leaves nothing to protect; drop it from the problem"
        )
    components: list[Component] = [Erasure(), Noise(std=0.0)]
    deviation = math.sqrt(authorized_variance)
    grid = deviation * np.geomspace(1.0, 9.0, _PERIODS)
    if family in ("noise", "any"):
        components += [Noise(std=float(s)) for s in deviation * np.geomspace(0.05, 20.0, 60)]
    if family in ("modulo", "any"):
        components += [Modulo(period=float(p)) for p in grid]
    if family == "any":
        widths = deviation * np.geomspace(0.15, 4.0, _BLURS)
        components += [Modulo(period=float(p), blur=float(b)) for p in grid for b in widths if b < 0.95 * p]
        components += [Modulo(period=math.inf, blur=float(b)) for b in widths]
    library = _measured(components, authorized_variance, adversary_variances, epsilon)
    for figures in (library.distortions, library.losses, library.pinned):
        figures.flags.writeable = False
    return library


def best_mixture(library: Library, *, distortion: float, caps: Sequence[float] | None = None) -> MixtureOptimum:
    """The mixture of the library that leaves the worst adversary the largest loss.

    ``caps`` bounds each adversary's pinned share; the plain noise of the same distortion is then added to the
    library, so that a cap set by that noise can always be met.
    """
    reached = min(distortion, library.authorized_variance)
    noise = _noise_for(reached, library.authorized_variance)
    library = library.joined(library.of([noise]))
    adversaries = len(library.adversary_variances)
    # among equals the mixture that pins fewer records: the weight is too small to buy any loss
    objective = np.append(1e-5 * library.authorized_variance * library.pinned.max(axis=1), -1.0)
    rows = [np.append(library.distortions, 0.0)]
    rows += [np.append(-library.losses[:, i], 1.0) for i in range(adversaries)]
    limits = [reached] + [0.0] * adversaries
    if caps is not None:
        rows += [np.append(library.pinned[:, i], 0.0) for i in range(adversaries)]
        limits += [float(cap) for cap in caps]
    solution = best_weights(objective, rows, limits)
    if solution.status == 2:
        raise SanitizerError("no release meets that cap on exposure at that distortion; raise the cap or lower epsilon")
    if not solution.success:
        raise NotConvergedError("the program for the best mixture was not solved; try another distortion")
    weights = np.where(solution.x[:-1] > 1e-9, solution.x[:-1], 0.0)
    weights /= weights.sum()
    used = np.flatnonzero(weights)
    return MixtureOptimum(
        mixture=Mixture(
            components=tuple(library.components[i] for i in used), weights=tuple(float(weights[i]) for i in used)
        ),
        distortion=float(weights @ library.distortions),
        adversary_losses=tuple(float(loss) for loss in weights @ library.losses),
        pinned_shares=tuple(float(share) for share in weights @ library.pinned),
    )


def best_weights(objective: Floats, rows: Sequence[Floats], limits: Sequence[float]) -> OptimizeResult:
    """The program over the weights of components and, last, the worst loss: the weights add up to 1."""
    return linprog(
        objective,
        A_ub=np.array(rows),
        b_ub=limits,
        A_eq=np.append(np.ones(len(objective) - 1), 0.0)[None, :],
        b_eq=[1.0],
        bounds=(0, None),
        method="highs",
    )


def plain_noise(library: Library, *, distortion: float) -> MixtureOptimum:
    """Proposition 1 as a mixture of one component: the reference for caps on exposure."""
    reached = min(distortion, library.authorized_variance)
    component = _noise_for(reached, library.authorized_variance)
    measured = library.of([component])
    return MixtureOptimum(
        mixture=Mixture(components=(component,), weights=(1.0,)),
        distortion=float(measured.distortions[0]),
        adversary_losses=tuple(float(loss) for loss in measured.losses[0]),
        pinned_shares=tuple(float(share) for share in measured.pinned[0]),
    )


def erasure_losses(library: Library, *, distortion: float) -> tuple[float, ...]:
    """Losses of the release that shows X, or nothing with probability D / Var[X|Y]."""
    share = min(1.0, distortion / library.authorized_variance)
    return tuple(share * variance for variance in library.adversary_variances)


def _noise_for(distortion: float, variance: float) -> Component:
    if distortion >= variance * (1 - 1e-12):
        return Erasure()
    return Noise(std=math.sqrt(1.0 / (1.0 / distortion - 1.0 / variance)) if distortion > 0 else 0.0)


def _measured(
    components: Sequence[Component], authorized: float, adversaries: tuple[float, ...], epsilon: float
) -> Library:
    # loss and pinned share of a component one after the other: both are sums over the same cells, which are kept
    figures = [[(c.loss(v), c.pinned(v, epsilon)) for v in adversaries] for c in components]
    return Library(
        components=tuple(components),
        authorized_variance=authorized,
        adversary_variances=adversaries,
        epsilon=epsilon,
        distortions=np.array([c.loss(authorized) for c in components]),
        losses=np.array([[loss for loss, _ in each] for each in figures]),
        pinned=np.array([[share for _, share in each] for each in figures]),
    )
