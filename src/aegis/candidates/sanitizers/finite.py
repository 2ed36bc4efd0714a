"""The finite case: a column with few values, what each party knows about it, and rows drawn from such a law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aegis.arrays import Floats
from aegis.candidates.sanitizers.mechanism import draw_symbols
from aegis.candidates.sanitizers.training_settings import CodedSample
from aegis.errors import SanitizerError


@dataclass(frozen=True, slots=True, kw_only=True)
class FiniteProblem:
    """Values of X with their shares, one channel P(side | x) per party (rows are values of X), and what errors cost.

    ``distortion_cost[x, guess]`` counts for the authorised party, ``loss_cost[x, guess]`` for the adversaries; both
    are 0–1 unless given.
    """

    prior: Floats
    authorized: Floats
    adversaries: tuple[Floats, ...]
    distortion_cost: Floats
    loss_cost: Floats

    def __post_init__(self) -> None:
        size = self.prior.size
        if size < 2:
            raise SanitizerError("the private column is constant; there is nothing to protect")
        if self.prior.min() <= 0 or abs(self.prior.sum() - 1) > 1e-9:
            raise SanitizerError("the shares of the private values must be positive and add up to 1")
        if not self.adversaries:
            raise SanitizerError("there is no adversary to protect against; name the side information of at least one")
        for channel in (self.authorized, *self.adversaries):
            if channel.ndim != 2 or channel.shape[0] != size or channel.min() < 0:
                raise SanitizerError("a side channel needs one row of probabilities for each private value")
            if np.abs(channel.sum(axis=1) - 1).max() > 1e-9:
                raise SanitizerError("each row of a side channel must add up to 1")
        for cost in (self.distortion_cost, self.loss_cost):
            if cost.ndim != 2 or cost.shape[0] != size or not np.isfinite(cost).all() or cost.min() < 0:
                raise SanitizerError(
                    "a cost matrix needs one row of finite costs, zero or more, for each private value"
                )

    @property
    def max_distortion(self) -> float:
        """Distortion without any release; allowing more changes nothing."""
        return bayes_loss(self.prior, self.authorized, self.distortion_cost)

    @property
    def saturation_losses(self) -> Floats:
        """What each adversary is left with when nothing is released."""
        return np.array([bayes_loss(self.prior, channel, self.loss_cost) for channel in self.adversaries])

    def distortion_of(self, release: Floats) -> float:
        """Distortion of the best reconstruction from the release P(f | x) and Y."""
        return release_loss(self.prior, release, self.authorized, self.distortion_cost)

    def losses_of(self, release: Floats) -> Floats:
        """Loss of the best attack of each adversary."""
        return np.array([release_loss(self.prior, release, z, self.loss_cost) for z in self.adversaries])


def finite_problem(
    *,
    prior: ArrayLike,
    authorized: ArrayLike,
    adversaries: Sequence[ArrayLike],
    distortion_cost: ArrayLike | None = None,
    loss_cost: ArrayLike | None = None,
) -> FiniteProblem:
    """A checked problem from plain lists."""
    shares = np.array(prior, dtype=float)
    wrong = 1.0 - np.eye(shares.size)
    return FiniteProblem(
        prior=shares,
        authorized=np.array(authorized, dtype=float),
        adversaries=tuple(np.array(channel, dtype=float) for channel in adversaries),
        distortion_cost=wrong if distortion_cost is None else np.array(distortion_cost, dtype=float),
        loss_cost=wrong if loss_cost is None else np.array(loss_cost, dtype=float),
    )


def binary_problem(*, p: float, qy: float, qz: Sequence[float]) -> FiniteProblem:
    """X is 1 with probability p; Y and each Z_i are X flipped with probability qy and qz_i.

    >>> problem = binary_problem(p=0.54, qy=0.2, qz=[0.44])
    >>> round(problem.max_distortion, 3), [round(float(loss), 3) for loss in problem.saturation_losses]
    (0.2, [0.44])
    """
    if not 0 < p < 1:
        raise SanitizerError("p must lie strictly between 0 and 1; otherwise the private column is constant")
    for q in (qy, *qz):
        if not 0 < q < 1:
            raise SanitizerError(
                "a crossover probability must lie strictly between 0 and 1; at either end the side information "
                "equals the private column"
            )
    channels = [np.array([[1 - q, q], [q, 1 - q]]) for q in (qy, *qz)]
    return finite_problem(prior=[1 - p, p], authorized=channels[0], adversaries=channels[1:])


def bayes_loss(prior: Floats, channel: Floats, cost: Floats) -> float:
    """Smallest expected cost of guessing X from one side channel."""
    joint = prior[:, None] * channel
    return float((cost.T @ joint).min(axis=0).sum())


def release_loss(prior: Floats, release: Floats, channel: Floats, cost: Floats) -> float:
    """Smallest expected cost of guessing X from a release and a side channel."""
    joint = np.einsum("x,xf,xs->xfs", prior, release, channel)
    return float(np.einsum("xg,xfs->gfs", cost, joint).min(axis=0).sum())


def draw(
    problem: FiniteProblem, rows: int, *, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[NDArray[np.int64], ...]]:
    """Codes of X, of Y and of each Z_i; side channels are independent given X."""
    x = rng.choice(problem.prior.size, size=rows, p=problem.prior)
    return x, draw_symbols(problem.authorized, x, rng), tuple(draw_symbols(z, x, rng) for z in problem.adversaries)


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
