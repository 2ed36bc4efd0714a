"""Rows of a finite problem: codes of X and of what everybody knows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.sanitizers.finite import FiniteProblem
from aegis.candidates.sanitizers.symbol_settings import CodedSample

Floats = NDArray[np.float64]


def draw(
    problem: FiniteProblem, rows: int, *, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[NDArray[np.int64], ...]]:
    """Codes of X, of Y and of each Z_i; side channels are independent given X."""
    x = rng.choice(problem.prior.size, size=rows, p=problem.prior)
    return x, through(problem.authorized, x, rng), tuple(through(z, x, rng) for z in problem.adversaries)


def coded_sample(problem: FiniteProblem, rows: int, *, rng: np.random.Generator) -> CodedSample:
    """Draws of a finite problem as training takes them."""
    x, y, z = draw(problem, rows, rng=rng)
    return CodedSample(
        private=x,
        authorized=y,
        adversaries=z,
        private_size=problem.prior.size,
        side_sizes=tuple(channel.shape[1] for channel in (problem.authorized, *problem.adversaries)),
    )


def through(channel: Floats, x: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """One draw of the channel's output for each code."""
    steps = np.cumsum(channel, axis=1)
    steps[:, -1] = 1.0
    return np.asarray((rng.random(x.size)[:, None] > steps[x]).sum(axis=1))
