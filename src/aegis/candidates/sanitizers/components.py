"""The ways to release a number: plain noise, silence, the remainder after a division, and what a network has learned.

Each component is described for an observer whose side information leaves X normal with variance v. The first three are
shift-invariant, so nothing else about the side information matters, and every figure is a one-dimensional integral.
The `Modulo` component releases (X + U) mod P with U uniform on ±blur/2: a good side channel unfolds the remainder, a
poor one cannot, and the blur keeps the unfolded value from being exact.

A trained privatizer is a component like any other: numpy weights, and its exact-as-wanted figures. The referee works on
the channel itself. The map x ↦ P(f-bin | x) is tabulated once; for an observer with a normal posterior before the
release, every posterior after it is then a matrix product. No attacker has to be trained, and nothing but the fineness
of the bins stands between the figure and the Bayes-optimal one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.special import ndtr

from aegis.arrays import Floats
from aegis.errors import SanitizerError

if TYPE_CHECKING:
    pass


_REACH = 8.0  # standard deviations beyond which a normal law is taken as zero
Layers = Sequence[tuple[Floats, Floats]]
_X_CELLS, _F_BINS, _SCORES, _NOISES = 640, 320, 81, 48
_SPAN = 5.5  # standard deviations of X that the table covers


class Component(Protocol):
    """One way to release a number; see the classes below for what the figures mean."""

    def loss(self, variance: float) -> float:
        """The observer's mean squared error."""

    def pinned(self, variance: float, epsilon: float) -> float:
        """The largest share of records an observer can place within ``epsilon``."""

    def release(self, values: Floats, rng: np.random.Generator) -> Floats:
        """The released value of each record."""

    def posterior_mean(self, released: Floats, scores: Floats, variance: float) -> Floats:
        """E[X | released value, side information], where side information alone says N(score, variance)."""

    def likelihood(self, released: Floats, values: Floats) -> Floats:
        """How likely each released value (row) is for each private value (column), up to a factor per row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """Nothing is released."""

    def loss(self, variance: float) -> float:
        return variance

    def pinned(self, variance: float, epsilon: float) -> float:
        return _within(epsilon, variance)

    def release(self, values: Floats, rng: np.random.Generator) -> Floats:
        return np.zeros_like(values)

    def posterior_mean(self, released: Floats, scores: Floats, variance: float) -> Floats:
        return scores

    def likelihood(self, released: Floats, values: Floats) -> Floats:
        return np.ones((released.size, values.size))


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """X plus independent normal noise; a standard deviation of 0 releases X itself."""

    std: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.std) and self.std >= 0):
            raise SanitizerError("the noise needs a standard deviation of zero or more")

    def loss(self, variance: float) -> float:
        return variance * self.std**2 / (variance + self.std**2)

    def pinned(self, variance: float, epsilon: float) -> float:
        return _within(epsilon, self.loss(variance))

    def release(self, values: Floats, rng: np.random.Generator) -> Floats:
        released: Floats = values + self.std * rng.standard_normal(values.shape)
        return released

    def posterior_mean(self, released: Floats, scores: Floats, variance: float) -> Floats:
        mean: Floats = scores + (released - scores) * variance / (variance + self.std**2)
        return mean

    def likelihood(self, released: Floats, values: Floats) -> Floats:
        away = released[:, None] - values[None, :]
        if self.std == 0:
            return (away == 0).astype(np.float64)
        squares = (away / self.std) ** 2
        # the nearest value has likelihood 1: nobody's row is lost to rounding
        return np.asarray(np.exp(-0.5 * (squares - squares.min(axis=1, keepdims=True))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Modulo:
    """(X + uniform noise of width ``blur``) mod ``period``; an infinite period only blurs."""

    period: float
    blur: float = 0.0

    def __post_init__(self) -> None:
        if not self.period > 0 or math.isnan(self.period):
            raise SanitizerError("the period must be positive")
        if not (0 <= self.blur < self.period and math.isfinite(self.blur)):
            raise SanitizerError("the blur must be zero or more and below the period")
        if math.isinf(self.period) and self.blur == 0:
            raise SanitizerError("an infinite period needs a blur; otherwise the column itself is released")
        if math.isfinite(self.period) and 0 < self.blur < 1e-6 * self.period:
            raise SanitizerError("a blur below a millionth of the period is lost in rounding; use 0 instead")

    def loss(self, variance: float) -> float:
        cells = _cells(self.period, self.blur, variance)
        mass, first, second = cells.mass.sum(1), cells.first.sum(1), cells.second.sum(1)
        spread = second - np.divide(first**2, mass, out=np.zeros_like(mass), where=mass > 0)
        return float(max(0.0, spread.sum()) / cells.total)

    def pinned(self, variance: float, epsilon: float) -> float:
        cells = _cells(self.period, self.blur, variance)
        if self.blur == 0:
            # a window catches every lattice point inside it; slide it so that it starts at each point
            reach = int(2 * epsilon / self.period) + 1
            running = np.cumsum(np.pad(cells.mass, ((0, 0), (1, reach))), axis=1)
            return float((running[:, reach:] - running[:, :-reach]).max(1).sum() / cells.total)
        best = np.zeros(cells.mass.shape[0])
        # the caught mass has its maximum where an end of the window meets an end of a cell, or around zero
        edges = [cells.low + epsilon, cells.low - epsilon, cells.high + epsilon, cells.high - epsilon]
        near = np.argsort(-cells.mass.sum(0))[:5]
        for centre in (np.zeros(best.size), *(edge[:, j] for edge in edges for j in near)):
            low = np.maximum(cells.low, (centre - epsilon)[:, None])
            high = np.minimum(cells.high, (centre + epsilon)[:, None])
            met = high > low  # few cells: the others are spared the normal law
            caught = np.zeros_like(low)
            caught[met] = _normal_between(low[met], high[met], variance)
            best = np.maximum(best, caught.sum(1))
        return float(best.sum() / cells.total)

    def release(self, values: Floats, rng: np.random.Generator) -> Floats:
        moved: Floats = values + self.blur * (rng.random(values.shape) - 0.5)
        return moved if math.isinf(self.period) else np.mod(moved, self.period)

    def posterior_mean(self, released: Floats, scores: Floats, variance: float) -> Floats:
        reach = _REACH * math.sqrt(variance) + self.blur
        if math.isinf(self.period):
            offset: Floats = released - scores
            steps: Floats = np.zeros(1)
        else:
            # the lattice point nearest to the score, and its neighbours within reach
            offset = (released - scores + self.period / 2) % self.period - self.period / 2
            count = math.ceil(reach / self.period)
            steps = np.arange(-count, count + 1).astype(np.float64) * self.period
        mass, first = np.zeros_like(offset), np.zeros_like(offset)
        for step in steps:
            moments = _cell_moments(offset + step, self.blur, variance)
            mass += moments[0]
            first += moments[1]
        mean: Floats = scores + np.divide(first, mass, out=offset.copy(), where=mass > 1e-290)
        return mean

    def likelihood(self, released: Floats, values: Floats) -> Floats:
        away = released[:, None] - values[None, :]
        if math.isfinite(self.period):
            away = (away + self.period / 2) % self.period - self.period / 2
        # what rounding in a remainder may add, so that the true value is never ruled out
        slack = 1e-9 * (1.0 + np.abs(values).max())
        return (np.abs(away) <= self.blur / 2 + slack).astype(np.float64)


@dataclass(frozen=True, slots=True)
class _Cells:
    """For each phase (row) and lattice point (column): probability, first and second moment, and the cell's ends."""

    mass: Floats
    first: Floats
    second: Floats
    low: Floats
    high: Floats
    total: float


@lru_cache(maxsize=512)
def _cells(period: float, blur: float, variance: float) -> _Cells:
    deviation = math.sqrt(variance)
    span = 2 * _REACH * deviation + blur
    width = min(period, span)
    # phases must resolve both the normal law and the cell
    finest = min(deviation, blur if blur > 0 else deviation, width)
    phases = int(min(4096, max(64 if blur > 0 else 512, math.ceil(16 * width / finest))))
    offset = ((np.arange(phases) + 0.5) / phases - 0.5) * width
    count = 0 if math.isinf(period) else math.ceil((_REACH * deviation + blur / 2) / period)
    steps = np.arange(-count, count + 1) * (0.0 if count == 0 else period)
    points = offset[:, None] + steps[None, :]
    mass, first, second = _cell_moments(points, blur, variance)
    return _Cells(mass, first, second, points - blur / 2, points + blur / 2, float(mass.sum()))


def _cell_moments(points: Floats, blur: float, variance: float) -> tuple[Floats, Floats, Floats]:
    """Moments of N(0, variance) on the cell of width ``blur`` around each point (a density where the width is 0)."""
    if blur == 0:
        mass = _density(points, variance)
        return mass, mass * points, mass * points**2
    low, high = points - blur / 2, points + blur / 2
    at_low, at_high = _density(low, variance), _density(high, variance)
    mass = _normal_between(low, high, variance)
    return mass, variance * (at_low - at_high), variance * (mass + low * at_low - high * at_high)


def _density(points: Floats, variance: float) -> Floats:
    result: Floats = np.exp(-(points**2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
    return result


def _normal_between(low: Floats, high: Floats, variance: float) -> Floats:
    """P(low ≤ N ≤ high), mirrored into the lower tail where that keeps more digits."""
    deviation = math.sqrt(variance)
    mirrored = low > 0
    a, b = np.where(mirrored, -high, low) / deviation, np.where(mirrored, -low, high) / deviation
    result: Floats = ndtr(b) - ndtr(a)
    return result


def _within(radius: float, variance: float) -> float:
    if variance == 0:
        return 1.0
    return math.erf(radius / math.sqrt(2 * variance))


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
