"""From noisy counts to counts that could be: not negative, with the right sums, and without what is only noise."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_TINY = 1e-9


def nearest(noisy: Floats, totals: Floats) -> Floats:
    """The nearest counts (in squares) that are not negative, each column (the last axis) summing to its total.

    >>> nearest(np.array([[7.0], [2.0], [-3.0]]), np.array([6.0])).ravel().tolist()
    [5.5, 0.5, 0.0]
    """
    flat = noisy.reshape(-1, noisy.shape[-1])
    ordered = np.sort(flat, axis=0)[::-1]
    places = np.arange(1, len(flat) + 1)[:, None]
    excess = (np.cumsum(ordered, axis=0) - totals) / places
    above = np.maximum((ordered > excess).sum(axis=0) - 1, 0)
    moved = np.maximum(flat - excess[above, np.arange(flat.shape[1])], 0.0)
    return np.asarray(moved.reshape(noisy.shape))


def totals_of(noisy: list[Floats], sigmas: list[float]) -> Floats:
    """The counts of the contexts: the mean of what all marginals say, those of little noise counting for more."""
    weights = [1 / (table.shape[0] * sigma**2) for table, sigma in zip(noisy, sigmas, strict=True)]
    sums = np.average([table.sum(axis=0) for table in noisy], axis=0, weights=weights)
    return np.maximum(sums, 1.0)


def denoised(noisy: Floats, *expectations: Floats, sigma: float) -> Floats:
    """What is expected, moved towards what was measured where the difference stands out of the noise.

    Differences are shrunk by the garrote (Gao 1998), which leaves large ones as they are, with the threshold that
    Stein's unbiased estimate of its risk prefers, never above the universal one. Of several expectations the one of the
    least risk is taken.
    """
    chosen = [_threshold(noisy - expected, sigma) for expected in expectations]
    place = min(range(len(chosen)), key=lambda place: chosen[place].risk)
    expected = expectations[place]
    apart = noisy - expected
    room = np.maximum(np.abs(apart) / sigma, _TINY)
    moved = expected + apart * np.maximum(1.0 - (chosen[place].threshold / room) ** 2, 0.0)
    return np.asarray(np.maximum(moved, 0.0))


class _Chosen(NamedTuple):
    """A threshold in deviations of the noise, and the risk that is estimated of it."""

    threshold: float
    risk: float


def _threshold(apart: Floats, sigma: float) -> _Chosen:
    scaled = np.sort(np.abs(apart).ravel() / sigma)
    size = scaled.size
    squares = scaled**2
    below = np.append(0.0, np.cumsum(squares))
    inverse = np.append(0.0, np.cumsum(1 / np.maximum(squares, _TINY)[::-1]))[::-1]
    rank = np.arange(size + 1)
    threshold = np.append(0.0, scaled)
    # Differences up to the threshold t become 0; a larger one, x, becomes x - t^2 / x.
    risk = size + below - 2 * rank + (threshold**4 + 2 * threshold**2) * inverse
    allowed = threshold <= math.sqrt(2 * math.log(max(size, 2)))
    best = int(np.argmin(np.where(allowed, risk, np.inf)))
    return _Chosen(threshold=float(threshold[best]), risk=float(risk[best]))


def with_margins(table: Floats, first: Floats, second: Floats, *, rounds: int = 8) -> Floats:
    """The table (first × second × context) fitted to two margins by iterative proportional fitting."""
    fitted = table + _TINY
    for _ in range(rounds):
        fitted = fitted * (first / np.maximum(fitted.sum(axis=1), _TINY))[:, None]
        fitted = fitted * (second / np.maximum(fitted.sum(axis=0), _TINY))[None]
    return fitted
