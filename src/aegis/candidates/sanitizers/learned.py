"""A trained privatizer as a component like any other: numpy weights, and its exact-as-wanted figures.

The referee works on the channel itself. The map x ↦ P(f-bin | x) is tabulated once; for an observer with a normal
posterior before the release, every posterior after it is then a matrix product. No attacker has to be trained, and
nothing but the fineness of the bins stands between the figure and the Bayes-optimal one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from aegis.errors import SanitizerError

Floats = NDArray[np.float64]
Layers = Sequence[tuple[Floats, Floats]]
_X_CELLS, _F_BINS, _SCORES, _NOISES = 640, 320, 81, 48
_SPAN = 5.5  # standard deviations of X that the table covers


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

    def error_share(self, radii: Floats, variance: float) -> Floats:
        """Share of records whose absolute error is at most each radius, for the observer that minimises its mean."""
        rng = np.random.default_rng(1)
        rows = 40_000
        known = math.sqrt(max(self.std**2 - variance, 0.0))
        scores = self.mean + known * rng.standard_normal(rows)
        x = scores + math.sqrt(variance) * rng.standard_normal(rows)
        errors = np.sort(np.abs(x - self.posterior_mean(self.release(x, rng), scores, variance)))
        return np.searchsorted(errors, radii, side="right") / rows

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

    def _scores(self, variance: float, *, count: int = _SCORES, reach: float = 4.5) -> tuple[Floats, Floats]:
        """What side information alone may say, with its probability."""
        known = math.sqrt(max(self.std**2 - variance, 0.0))
        if known < 1e-6 * self.std:
            return np.array([self.mean]), np.ones(1)
        offsets = np.linspace(-reach, reach, count)
        weights = np.exp(-0.5 * offsets**2)
        return self.mean + known * offsets, weights / weights.sum()

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
