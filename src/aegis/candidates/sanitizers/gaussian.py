"""The Gaussian case: what side information alone tells, and the best release that is itself Gaussian.

A private X is observed through F = X + noise by an authorised party that also holds Y and by adversaries that hold
Z_1, Z_2, …. Given X the noise is independent of all side information, so precisions add: with conditional variance v
before the release and noise variance s², the variance after it is 1/(1/v + 1/s²). Solving for the s² that leaves the
authorised party exactly D gives Proposition 1 for any number of adversaries and for vectors of side information.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aegis.arrays import Floats
from aegis.errors import SanitizerError


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianProblem:
    """A joint normal law, which coordinates the authorised party sees, and which each adversary sees.

    Coordinate 0 is the private variable. ``authorized`` and every entry of ``adversaries`` list coordinates.
    """

    mean: Floats
    covariance: Floats
    authorized: tuple[int, ...]
    adversaries: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        covariance = np.array(self.covariance, dtype=float)
        mean = np.array(self.mean, dtype=float)
        _check_covariance(covariance)
        if mean.shape != (covariance.shape[0],):
            raise SanitizerError("the mean must have one entry for each row of the covariance")
        if not np.isfinite(mean).all():
            raise SanitizerError("the mean holds a value that is not a number; give finite entries")
        if not self.adversaries:
            raise SanitizerError("there is no adversary to protect against; name the side information of at least one")
        for party in (self.authorized, *self.adversaries):
            if any(not 1 <= index < covariance.shape[0] for index in party):
                raise SanitizerError(
                    f"side information must name coordinates 1 to {covariance.shape[0] - 1}; 0 is the private variable"
                )
            if len(set(party)) != len(party):
                raise SanitizerError("a party names the same coordinate of side information twice; name each once")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "covariance", covariance)

    @property
    def private_variance(self) -> float:
        """Var[X]."""
        return float(self.covariance[0, 0])

    @property
    def private_std(self) -> float:
        """The standard deviation of X, in which ε of the exposure is measured."""
        return math.sqrt(self.private_variance)

    def conditional_variance(self, party: Sequence[int]) -> float:
        """Var[X | the coordinates of ``party``]."""
        return self._regression(party)[1]

    @property
    def max_distortion(self) -> float:
        """Var[X|Y]: with this distortion allowed nothing needs to be released, and nothing changes beyond it."""
        return self.conditional_variance(self.authorized)

    @property
    def saturation_losses(self) -> Floats:
        """Var[X|Z_i]: what each adversary is left with when nothing is released."""
        return np.array([self.conditional_variance(party) for party in self.adversaries])

    def score(self, samples: Floats, party: Sequence[int]) -> Floats:
        """E[X | side information of ``party``] for each row of ``samples``: all that a Gaussian side channel says."""
        weights, _ = self._regression(party)
        columns = list(party)
        result: Floats = self.mean[0] + (samples[:, columns] - self.mean[columns]) @ weights
        return result

    def sample(self, rows: int, *, rng: np.random.Generator) -> Floats:
        """``rows`` draws of (X, side information), one per row."""
        factor = np.linalg.cholesky(self.covariance)
        draws: Floats = self.mean + rng.standard_normal((rows, self.mean.size)) @ factor.T
        return draws

    def _regression(self, party: Sequence[int]) -> tuple[Floats, float]:
        columns = list(party)
        if not columns:
            return np.zeros(0), self.private_variance
        side = self.covariance[np.ix_(columns, columns)]
        cross = self.covariance[0, columns]
        weights: Floats = np.linalg.solve(side, cross).astype(np.float64)
        return weights, float(self.private_variance - cross @ weights)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianOptimum:
    """The best jointly Gaussian release at one distortion; ``noise_std`` is 0 for X itself and infinite for silence."""

    distortion: float
    adversary_losses: tuple[float, ...]
    noise_std: float

    @property
    def worst(self) -> float:
        """The loss of the adversary that knows most."""
        return min(self.adversary_losses)


def proposition_1(problem: GaussianProblem, *, distortion: float) -> GaussianOptimum:
    """Proposition 1 at ``distortion``; a distortion above Var[X|Y] means the same as Var[X|Y].

    >>> problem = paper_problem()
    >>> round(proposition_1(problem, distortion=2.0).worst, 3)
    2.301
    """
    check_distortion(distortion, allow_zero=True)
    ceiling = problem.max_distortion
    reached = min(distortion, ceiling)
    if reached == 0.0:
        return GaussianOptimum(distortion=0.0, adversary_losses=(0.0,) * len(problem.adversaries), noise_std=0.0)
    precision = max(0.0, 1.0 / reached - 1.0 / ceiling)
    losses = 1.0 / (1.0 / problem.saturation_losses + precision)
    noise = math.inf if precision == 0.0 else 1.0 / math.sqrt(precision)
    return GaussianOptimum(distortion=reached, adversary_losses=tuple(float(loss) for loss in losses), noise_std=noise)


def gaussian_problem(
    covariance: ArrayLike,
    *,
    mean: ArrayLike | None = None,
    authorized: Sequence[int] = (1,),
    adversaries: Sequence[Sequence[int]] | None = None,
    coalition: bool = False,
) -> GaussianProblem:
    """A checked problem from plain lists; by default coordinate 1 is Y and every later one an adversary.

    With ``coalition`` there is no separate authorised party: the adversaries' side information together is Y.
    Without named adversaries the coalition's members are then all coordinates after the first.
    """
    matrix = np.array(covariance, dtype=float)
    size = matrix.shape[0] if matrix.ndim else 0
    if adversaries is None:
        adversaries = [(index,) for index in range(1 if coalition else 2, size)]
    parties = tuple(tuple(int(index) for index in party) for party in adversaries)
    if coalition:
        if len(parties) < 2:
            raise SanitizerError("a coalition needs at least two members; name the side information of two or more")
        authorized = sorted({index for party in parties for index in party})
    return GaussianProblem(
        mean=np.zeros(size) if mean is None else np.array(mean, dtype=float),
        covariance=matrix,
        authorized=tuple(int(index) for index in authorized),
        adversaries=parties,
    )


def paper_problem() -> GaussianProblem:
    """The Gaussian setting of the paper's section V.A, with its correlations as printed."""
    deviations = np.sqrt([16.0, 0.90, 12.25, 2.25])
    correlations = np.array(
        [[1.0, 0.80, 0.11, 0.65], [0.80, 1.0, 0.23, 0.59], [0.11, 0.23, 1.0, 0.19], [0.65, 0.59, 0.19, 1.0]]
    )
    return gaussian_problem(correlations * np.outer(deviations, deviations), mean=[4.0, 3.0, 4.5, 5.0])


def coalition_problem() -> GaussianProblem:
    """A coalition that knows more than its members: X is nearly the sum of two independent halves.

    Each member alone has Var[X|Z_i] = 9 of 16; both together have Var[X|Z_1,Z_2] = 2.
    """
    return gaussian_problem([[16.0, 7.0, 7.0], [7.0, 7.0, 0.0], [7.0, 0.0, 7.0]], coalition=True)


def problem_from_json(document: dict[str, Any], *, coalition: bool = False) -> GaussianProblem:
    """A problem from ``{"covariance": …, "mean": …, "authorized": […], "adversaries": [[…], …]}``."""
    unknown = set(document) - {"covariance", "mean", "authorized", "adversaries"}
    if unknown or "covariance" not in document:
        raise SanitizerError(
            "a covariance file holds 'covariance' and, if wanted, 'mean', 'authorized' and 'adversaries'; nothing else"
        )
    try:
        return gaussian_problem(
            document["covariance"],
            mean=document.get("mean"),
            authorized=document.get("authorized", (1,)),
            adversaries=document.get("adversaries"),
            coalition=coalition,
        )
    except (TypeError, ValueError):
        raise SanitizerError("the covariance file holds something that is not a matrix of numbers") from None


def check_distortion(distortion: float, *, allow_zero: bool = False) -> None:
    """Refuse a distortion that no release can have."""
    if not math.isfinite(distortion) or distortion < 0 or (distortion == 0 and not allow_zero):
        raise SanitizerError("the distortion must be a positive number; a distortion of 0 releases the column itself")


def _check_covariance(covariance: Floats) -> None:
    if covariance.ndim != 2 or covariance.shape[0] != covariance.shape[1] or covariance.shape[0] < 2:
        raise SanitizerError("the covariance must be a square matrix with at least two rows (X and side information)")
    if not np.isfinite(covariance).all():
        raise SanitizerError("the covariance holds a value that is not a number; give finite entries")
    if not np.allclose(covariance, covariance.T, rtol=1e-8, atol=1e-10):
        raise SanitizerError("the covariance is not symmetric; give the same entry on both sides of the diagonal")
    eigenvalues = np.linalg.eigvalsh(covariance)
    if eigenvalues[0] <= 1e-12 * max(eigenvalues[-1], 1e-300):
        raise SanitizerError(
            "the covariance is not positive definite; check the correlations, or drop a column that repeats another"
        )
