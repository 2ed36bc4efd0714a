"""A trained privatizer as a component like any other: numpy weights, and its exact-as-wanted figures.

The referee works on the channel itself. The map x ↦ P(f-bin | x) is tabulated once; for an observer with a normal
posterior before the release, every posterior after it is then a matrix product. No attacker has to be trained, and
nothing but the fineness of the bins stands between the figure and the Bayes-optimal one. Training under a Gaussian law
leaves privatizers that a mixture can use in this way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from aegis.arrays import Floats
from aegis.candidates.sanitizers.components import Component, Erasure, Noise
from aegis.candidates.sanitizers.gaussian import GaussianProblem, proposition_1
from aegis.candidates.sanitizers.mixtures import Library
from aegis.candidates.sanitizers.training_settings import Sample, TrainingSettings
from aegis.errors import SanitizerError
from aegis.progress import Progress

if TYPE_CHECKING:
    from aegis.candidates.sanitizers.number_training import Trained


Layers = Sequence[tuple[Floats, Floats]]
_X_CELLS, _F_BINS, _SCORES, _NOISES = 640, 320, 81, 48
_SPAN = 5.5  # standard deviations of X that the table covers
EPSILON_SHARE = 0.1  # records are "pinned" within this many standard deviations of X
_KEPT = 4  # trials of a point that are measured on the channel after training


def apply_layers(layers: Layers, inputs: Floats) -> Floats:
    """The network that training ran, in numpy."""
    for weights, bias in layers[:-1]:
        inputs = np.maximum(inputs @ weights + bias, 0.0)
    weights, bias = layers[-1]
    result: Floats = inputs @ weights + bias
    return result


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """A privatizer network of (standardised x, normal noise), under the law N(center, scale²) of X."""

    layers: tuple[tuple[Floats, Floats], ...]
    center: float
    scale: float
    mean: float
    std: float
    _edges: Floats = field(init=False, repr=False)
    _channel: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.layers[0][0].shape[0] != 2 or self.layers[-1][0].shape[1] != 1:
            raise SanitizerError("a learned privatizer takes two inputs and gives one output")
        if not all(np.isfinite(a).all() for layer in self.layers for a in layer):
            raise SanitizerError("the learned privatizer holds a weight that is not a number; train it again")
        ends = np.append(self._grid() - self._step / 2, self.mean + self.std * _SPAN)
        noise = np.linspace(-4.0, 4.0, _NOISES + 1)
        chance = np.diff(ndtr(noise)) / (ndtr(4.0) - ndtr(-4.0))
        x, r = np.meshgrid(ends, noise, indexing="ij")
        f = self._map(x.ravel(), r.ravel()).reshape(x.shape)
        # each (cell of x, cell of noise) spreads its probability over the values between its corners
        corners = np.stack([f[:-1, :-1], f[1:, :-1], f[:-1, 1:], f[1:, 1:]])
        low, high = corners.min(axis=0), corners.max(axis=0)
        weight = np.exp(-0.5 * ((self._grid() - self.mean) / self.std) ** 2)
        edges = _weighted_quantiles((low + high).ravel() / 2, np.outer(weight, chance).ravel())
        below = np.empty((_X_CELLS, edges.size))
        width = np.maximum(high - low, 1e-9 * (1.0 + np.abs(high)))
        for column, edge in enumerate(edges):
            below[:, column] = np.clip((edge - low) / width, 0.0, 1.0) @ chance
        counts = np.diff(np.pad(below, ((0, 0), (1, 1)), constant_values=((0, 0), (0.0, 1.0))), axis=1)
        object.__setattr__(self, "_edges", edges)
        object.__setattr__(self, "_channel", counts)

    @property
    def _step(self) -> float:
        return 2 * _SPAN * self.std / _X_CELLS

    def _grid(self) -> Floats:
        return self.mean + self.std * _SPAN * (2 * (np.arange(_X_CELLS) + 0.5) / _X_CELLS - 1)

    def _map(self, x: Floats, noise: Floats) -> Floats:
        return apply_layers(self.layers, np.stack([(x - self.center) / self.scale, noise], axis=1))[:, 0]

    def release(self, values: Floats, rng: np.random.Generator) -> Floats:
        """The released value of each record."""
        return self._map(values, rng.standard_normal(values.shape))

    def loss(self, variance: float) -> float:
        """The mean squared error of an observer whose side information leaves X normal with this variance."""
        scores, weights = self._scores(variance)
        mass, first, second = self._moments(scores, variance)
        spread = second - np.divide(first**2, mass, out=np.zeros_like(mass), where=mass > 1e-300)
        return float(weights @ np.maximum(spread, 0.0).sum(axis=1))

    def pinned(self, variance: float, epsilon: float) -> float:
        """The largest share of records such an observer can place within ``epsilon``."""
        scores, weights = self._scores(variance, count=41)
        step = self._step
        window = max(1, round(2 * epsilon / step))
        # the window holds a whole number of cells; scale for what rounding took or gave
        scale = min(1.0, 2 * epsilon / (window * step)) if window > 2 * epsilon / step else 1.0
        total = 0.0
        for score, weight in zip(scores, weights, strict=True):
            before = self._before(score, variance)
            running = np.cumsum(np.vstack([np.zeros(self._channel.shape[1]), before[:, None] * self._channel]), axis=0)
            total += weight * scale * float((running[window:] - running[:-window]).max(axis=0).sum())
        return min(1.0, total)

    def posterior_mean(self, released: Floats, scores: Floats, variance: float) -> Floats:
        """E[X | released value, side information], read off the table."""
        grid, _ = self._scores(variance, reach=5.0)
        mass, first, _ = self._moments(grid, variance)
        table = np.divide(first, mass, out=np.repeat(grid[:, None], mass.shape[1], axis=1), where=mass > 1e-12)
        column = np.searchsorted(self._edges, released)
        if grid.size == 1:
            return np.asarray(table[0, column])
        place = np.clip((scores - grid[0]) / (grid[1] - grid[0]), 0.0, grid.size - 1.000001)
        row = place.astype(np.int64)
        part = place - row
        estimate: Floats = (1 - part) * table[row, column] + part * table[row + 1, column]
        return estimate

    def likelihood(self, released: Floats, values: Floats) -> Floats:
        """How likely each released value (row) is for each private value (column), read off the table."""
        cell = np.clip(((values - self.mean) / (self.std * _SPAN) + 1) / 2 * _X_CELLS, 0, _X_CELLS - 1).astype(np.int64)
        return np.asarray(self._channel[cell][:, np.searchsorted(self._edges, released)].T)

    def _scores(self, variance: float, *, count: int = _SCORES, reach: float = 4.5) -> tuple[Floats, Floats]:
        """What side information alone may say, with its probability."""
        spread = math.sqrt(max(self.std**2 - variance, 0.0))
        if spread < 1e-6 * self.std:
            return np.array([self.mean]), np.ones(1)
        offsets = np.linspace(-reach, reach, count)
        weights = np.exp(-0.5 * offsets**2)
        return self.mean + spread * offsets, weights / weights.sum()

    def _before(self, score: float, variance: float) -> Floats:
        density = np.exp(-((self._grid() - score) ** 2) / (2 * variance))
        total = density.sum()
        return np.asarray(density / total if total > 0 else density)

    def _moments(self, scores: Floats, variance: float) -> tuple[Floats, Floats, Floats]:
        """For each score and f-bin: probability, first and second moment of X."""
        grid = self._grid()
        before = np.stack([self._before(score, variance) for score in scores])
        shifted = grid - self.mean  # moments about the mean keep more digits
        mass = before @ self._channel
        first = (before * shifted) @ self._channel
        second = (before * shifted**2) @ self._channel
        return mass, first + self.mean * mass, second + 2 * self.mean * first + self.mean**2 * mass


def _weighted_quantiles(values: Floats, weights: Floats) -> Floats:
    order = np.argsort(values, kind="stable")
    running = np.cumsum(weights[order])
    places = np.searchsorted(running, np.arange(1, _F_BINS) / _F_BINS * running[-1])
    return np.unique(values[order][places])


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
