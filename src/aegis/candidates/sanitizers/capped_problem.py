"""What is asked of a release under caps: the law, what errors cost, how much each group may err, and the caps.

A wrong guess costs what any matrix says, the squared error of a number in bins, or the logarithm of a belief. A program
needs two things of a cost. For weights over the values (a posterior, not necessarily normalised) the cost of the best
guess, for each value: a tangent of the concave Bayes loss. And a few vectors that lie below every guess.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats
from aegis.candidates.sanitizers.caps import Caps
from aegis.candidates.sanitizers.law import Law
from aegis.errors import SanitizerError

_INTERVALS = 16
_TANGENTS = 24
_DOUBT = 1e-6  # the least probability that a logarithm is taken of
_MIXED = 1e-3  # of a belief, spread over all values: its loss is bounded then, which a proof needs


class Cost(Protocol):
    """A loss of guessing the value of a column."""

    def best(self, weights: Floats) -> Floats:
        """Costs by true value of the guess that is best for these weights; the last axis is the value."""

    def tangents(self) -> Floats:
        """Costs by value of some guesses, one guess a row: the Bayes loss lies below each of them."""

    def floors(self) -> Floats:
        """Costs by value, one row each, such that every guess costs at least as much as one of the rows."""


def bayes(cost: Cost, weights: Floats) -> Floats:
    """The smallest expected cost for weights over values (last axis)."""
    return np.asarray((weights * cost.best(weights)).sum(axis=-1))


@dataclass(frozen=True, slots=True, eq=False)
class MatrixCost:
    """``matrix[value, guess]`` is what a guess costs."""

    matrix: Floats

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or not np.isfinite(self.matrix).all() or self.matrix.min() < 0:
            raise SanitizerError("a cost matrix needs one row of finite costs, zero or more, for each private value")

    def best(self, weights: Floats) -> Floats:
        return np.asarray(self.matrix.T[(weights @ self.matrix).argmin(axis=-1)])

    def tangents(self) -> Floats:
        return self.matrix.T

    floors = tangents


def zero_one(size: int) -> MatrixCost:
    """The share of wrong guesses.

    >>> float(bayes(zero_one(2), np.array([0.3, 0.7])))
    0.3
    """
    return MatrixCost(1.0 - np.eye(size))


@dataclass(frozen=True, slots=True, eq=False)
class SquaredCost:
    """Squared error of a number whose value is known by its bin: the bins' means and variances.

    >>> cost = SquaredCost(np.array([0.0, 2.0]), np.array([0.5, 0.5]))
    >>> float(bayes(cost, np.array([0.5, 0.5])))
    1.5
    """

    means: Floats
    variances: Floats

    def best(self, weights: Floats) -> Floats:
        total = weights.sum(axis=-1, keepdims=True)
        # weights that are nothing but rounding have no mean
        first = np.where(total > 1e-14, (weights * self.means).sum(axis=-1, keepdims=True), self.means.mean())
        guess = first / np.where(total > 1e-14, total, 1.0)
        return np.asarray(self.variances + (self.means - guess) ** 2)

    def tangents(self) -> Floats:
        grid = np.linspace(self.means.min(), self.means.max(), _TANGENTS)
        return np.asarray(self.variances + (self.means - grid[:, None]) ** 2)

    def floors(self) -> Floats:
        edges = np.linspace(self.means.min(), self.means.max(), _INTERVALS + 1)
        below = np.maximum(edges[:-1, None] - self.means, 0.0)
        above = np.maximum(self.means - edges[1:, None], 0.0)
        return np.asarray(self.variances + (below + above) ** 2)


@dataclass(frozen=True, slots=True, eq=False)
class LogCost:
    """The logarithmic loss, in bits, of saying how likely each value is: at best the entropy that is left.

    >>> round(float(bayes(LogCost(2), np.array([0.5, 0.5]))), 4)
    1.0
    """

    size: int

    def best(self, weights: Floats) -> Floats:
        positive = np.maximum(weights, 0.0)  # a program's solution may be a rounding below zero
        total = np.maximum(positive.sum(axis=-1, keepdims=True), 1e-300)
        return np.asarray(-np.log2((1 - self.size * _DOUBT) * positive / total + _DOUBT))

    def tangents(self) -> Floats:
        size = self.size
        even = np.full((1, size), 1.0 / size)
        if size == 2:
            first = np.sin(np.linspace(0.04, 0.96, _TANGENTS) * np.pi / 2) ** 2
            return self.best(np.column_stack([first, 1 - first]))
        leaning = [sure * np.eye(size) + (1 - sure) / size for sure in (0.4, 0.8, 0.97)]
        return self.best(np.vstack([even, *leaning]))

    def floors(self) -> Floats:
        return np.zeros((1, self.size))

    @property
    def largest(self) -> float:
        """The largest loss of a belief that gives every value its part of a thousandth."""
        return float(np.log2(self.size / _MIXED))

    @property
    def slack(self) -> float:
        """The most that such a belief loses beyond the best one, and that `best` adds to the entropy."""
        return float(-np.log2(1 - _MIXED) - np.log2(1 - self.size * _DOUBT))


def read_costs(path: Path, values: NDArray[Any], *, column: str) -> Floats:
    """The costs of a .csv file in the order of the column's values; what is wrong with it is a `SanitizerError`.

    The first line names the guesses, the first cell of every other line a true value: true values down, guesses across.
    Values that the column does not have are passed over.
    """
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            lines = [line for line in csv.reader(stream) if line]
    except (OSError, UnicodeDecodeError):
        raise SanitizerError(f"{path.name} cannot be read; the costs are a .csv file") from None
    guesses = lines[0][1:] if lines else []
    if not guesses or any(len(line) != len(guesses) + 1 for line in lines) or len(set(guesses)) < len(guesses):
        raise SanitizerError(f"{path.name} is to have a line of guesses, each once, and a line of costs for each value")
    costs = {line[0]: dict(zip(guesses, line[1:], strict=True)) for line in lines[1:]}
    labels = [str(value) for value in np.unique(values.astype(str))]
    absent = [value for value in labels if value not in costs or value not in guesses]
    if absent:
        raise SanitizerError(
            f"{path.name} misses {len(absent)} of the {len(labels)} values of column '{column}' among its lines or its "
            "guesses"
        )
    try:
        matrix = np.array([[float(costs[value][guess]) for guess in labels] for value in labels])
    except ValueError:
        raise SanitizerError(f"{path.name} holds costs that are no numbers") from None
    if not all(math.isfinite(cost) and cost >= 0 for cost in matrix.ravel()) or matrix.max() == 0:
        raise SanitizerError(f"costs in {path.name} are numbers from zero up, and not all zero")
    if np.diag(matrix).any():
        raise SanitizerError(f"a right guess costs nothing; {path.name} has another number where both names are equal")
    return matrix


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CappedProblem:
    """A law, what errors cost every party, how much each authorised group may err, and the caps."""

    law: Law
    cost: Cost
    distortions: tuple[float, ...]
    caps: Caps

    def __post_init__(self) -> None:
        if not self.law.adversaries:
            raise SanitizerError("there is no adversary to protect against; name the side information of at least one")
        if len(self.distortions) != len(self.law.authorized):
            raise SanitizerError("give each authorised group its own distortion")
        if min(self.distortions) < 0:
            raise SanitizerError("a distortion is zero or more")

    @property
    def silent_distortions(self) -> tuple[float, ...]:
        """What each group errs by without a release; allowing more changes nothing."""
        return tuple(float(bayes(self.cost, table.T).sum()) for table in self.law.authorized)

    @property
    def silent_losses(self) -> tuple[float, ...]:
        """What each adversary is left with when nothing is released."""
        return tuple(float(bayes(self.cost, table.T).sum()) for table in self.law.adversaries)

    @property
    def limits(self) -> tuple[float, ...]:
        """What each group may err by: no more than without a release, where more was allowed."""
        return tuple(map(min, self.distortions, self.silent_distortions))

    @property
    def scale(self) -> float:
        """The largest loss that any release could leave, of which rounding and gains are small shares."""
        return max(1e-12, *self.silent_losses)

    def distortions_of(self, release: Floats) -> tuple[float, ...]:
        """What each group errs by with a release."""
        return tuple(released_loss(table, release, self.cost) for table in self.law.authorized)

    def losses_of(self, release: Floats) -> tuple[float, ...]:
        """What each adversary is left with after a release."""
        return tuple(released_loss(table, release, self.cost) for table in self.law.adversaries)

    def met(self, missed: Sequence[float]) -> bool:
        """Whether what is missed of each distortion is nothing but rounding."""
        return max(missed) <= 1e-6 * max(1e-12, *self.silent_distortions)


def released_loss(table: Floats, release: Floats, cost: Cost) -> float:
    """The smallest expected cost of guessing from a cell and a symbol; ``table[x, cell]`` are joint shares.

    The joint shares need not add up to 1: the loss of part of a law is linear in it.
    """
    return float(bayes(cost, table.T[:, None, :] * release.T[None, :, :]).sum())


def symbol_losses(table: Floats, symbols: Floats, cost: Cost) -> Floats:
    """What each symbol (row) leaves whoever sees its cell: the smallest expected cost of guessing."""
    return np.asarray(bayes(cost, symbols[:, None, :] * table.T).sum(axis=1))
